"""The dissector's fields and expert infos, against packets of the native codec."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from csaud import _core
from csaud_topologies.capture.pcapng import Interface, PcapngWriter
from scapy.contrib.roce import BTH
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Raw

from tests.wireshark import packets as p
from tests.wireshark.tshark import DISSECTOR, ETHERNET, capture, fields, needs_tshark, run, text

pytestmark = needs_tshark

HEADER_FIELDS = [
    "type", "flags", "spray", "cls", "attempt", "epoch", "comm", "step", "coll_seq", "src_rank", "chunk",
    "pkt_idx", "pkt_total", "path_id", "path_seq", "tx_ts",
]  # fmt: skip
CONTROL_FIELDS = [
    "reason", "flags", "ecn_count", "newest_tx_ts", "echoed_path", "path_first", "path_count", "from_rank",
    "credit", "cumulative", "bitmap_bits",
]  # fmt: skip
EXPERT = "_ws.expert.message"


def dissect(packet: bytes, *names: str, options: tuple[str, ...] = (), **where: Any) -> dict[str, str]:
    return fields([packet], names, *options, **where)[0]


def random_packet(chance: random.Random) -> bytes:
    """A packet of a random type whose fields are all random."""
    kind = chance.choice([p.DATA, p.ACK, p.STATE, p.LOSS, p.CREDIT, p.PROBE, p.PROBE_RSP, p.ABORT])
    total = chance.randint(1, 512)
    header = {
        "flags": chance.getrandbits(8) | (p.TRIMMED if kind == p.LOSS else 0),
        "spray": chance.getrandbits(4),
        "cls": chance.getrandbits(3),
        "ordered": bool(chance.getrandbits(1)),
        "attempt": chance.getrandbits(8),
        "coll_seq": chance.getrandbits(32),
        "tx_ts": chance.getrandbits(32),
        "pkt_idx": chance.randrange(total),
        "pkt_total": total,
    }
    header |= {name: chance.getrandbits(16) for name in ("epoch", "comm", "step", "src_rank", "chunk")}
    header |= {name: chance.getrandbits(16) for name in ("path_id", "path_seq")}
    if kind == p.DATA:
        return p.packet(kind, **header, payload=chance.randbytes(chance.randint(0, 200)))
    if kind == p.LOSS:
        return p.loss(**header)
    part = {"reason": chance.randrange(13), "control_flags": chance.getrandbits(3)}
    part |= {
        name: chance.getrandbits(16) for name in ("ecn_count", "echoed_path", "path_first", "path_count")
    }
    part |= {name: chance.getrandbits(32) for name in ("newest_tx_ts", "credit")}
    part |= {"from_rank": chance.getrandbits(16), "cumulative": chance.randint(0, total)}
    bits = chance.choice([0, total])
    return p.control(
        kind, set(chance.sample(range(total), total // 2)) if bits else None, bits, **header, **part
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_every_field_has_the_value_that_the_native_codec_reads(seed: int) -> None:
    print("seed", seed)
    chance = random.Random(seed)
    sent = [random_packet(chance) for _ in range(300)]
    names = [f"csaud.{name}" for name in [*HEADER_FIELDS, "ordered", "payload_length"]]
    names += [f"csaud.control.{name}" for name in [*CONTROL_FIELDS, "bitmap", "bitmap.received"]]
    for packet, shown in zip(sent, fields(sent, names), strict=True):
        fault, decoded = _core.wire.decode_any(packet)
        assert fault == "none"
        assert {name: int(shown[f"csaud.{name}"], 0) for name in HEADER_FIELDS} == {
            name: decoded[name] for name in HEADER_FIELDS
        }
        assert int(shown["csaud.ordered"]) == decoded["ordered"]
        if decoded["type"] in (p.DATA, p.LOSS, p.PARITY):
            assert int(shown["csaud.payload_length"]) == len(decoded["payload"])
            assert "csaud.control.reason" not in shown
            continue
        native = {**decoded, "flags": decoded["control_flags"]}
        assert {name: int(shown[f"csaud.control.{name}"], 0) for name in CONTROL_FIELDS} == {
            name: native[name] for name in CONTROL_FIELDS
        }
        note = decoded["type"] == p.ABORT or (decoded["type"] == p.PROBE and decoded["reason"] == p.PING)
        assert shown.get("csaud.control.bitmap", "") == ("" if note else decoded["bitmap"].hex())
        if decoded["bitmap_bits"] and not note:
            ones = sum(byte.bit_count() for byte in decoded["bitmap"])
            assert int(shown["csaud.control.bitmap.received"]) == ones


def test_data() -> None:
    packet = p.packet(p.DATA, payload=b"abcde", flags=p.LAST)
    shown = dissect(
        packet, "_ws.col.Protocol", "_ws.col.Info", "csaud.magic", "csaud.version", "csaud.flags.last",
        "csaud.flags.rtx", "csaud.message", "csaud.payload", "csaud.pad", "infiniband.bth.destqp",
        "infiniband.deth.srcqp",
    )  # fmt: skip
    assert shown == {
        "_ws.col.Protocol": "CSA-UD",
        "_ws.col.Info": f"DATA 5/300, message {p.MESSAGE}, path 9 #61453, 5 bytes",
        "csaud.magic": "0x0c5a",
        "csaud.version": "1",
        "csaud.flags.last": "1",
        "csaud.flags.rtx": "0",
        "csaud.message": p.MESSAGE,
        "csaud.payload": b"abcde".hex(),
        "csaud.pad": "000000",
        "infiniband.bth.destqp": "0x0abcde",
        "infiniband.deth.srcqp": "0x00000051",
    }


def test_parity() -> None:
    shown = dissect(
        p.packet(p.PARITY, payload=bytes(8), pkt_idx=2, attempt=40), "_ws.col.Info", "csaud.parity.row",
        "csaud.parity.covered", "csaud.payload_length",
    )  # fmt: skip
    assert shown == {
        "_ws.col.Info": f"PARITY row 2 of the last 40 of 300, message {p.MESSAGE}, path 9 #61453, 8 bytes",
        "csaud.parity.row": "2",
        "csaud.parity.covered": "40",
        "csaud.payload_length": "8",
    }
    wrong = dissect(p.packet(p.PARITY, payload=bytes(8), pkt_idx=8, attempt=0), EXPERT)
    assert wrong == {EXPERT: "Row 8 of the last 0 of 300 packets"}


def test_a_trimmed_packet_on_its_own_port() -> None:
    shown = dissect(
        p.loss(attempt=2), "_ws.col.Info", "csaud.type", "csaud.loss_form", "csaud.payload_length",
        "csaud.bth.opcode", "csaud.bth.destqp", "csaud.bth.psn", "csaud.deth.qkey", "csaud.deth.srcqp",
        EXPERT,
    )  # fmt: skip
    assert shown == {
        "_ws.col.Info": f"LOSS 5/300, message {p.MESSAGE}, path 9 #61453, attempt 2",
        "csaud.type": "3",
        "csaud.loss_form": "1",
        "csaud.payload_length": "0",
        "csaud.bth.opcode": "0x64",
        "csaud.bth.destqp": "0x0abcde",
        "csaud.bth.psn": "1193046",
        "csaud.deth.qkey": "0x1ceb00da",
        "csaud.deth.srcqp": "0x000051",
        EXPERT: "A switch trimmed this packet: its payload is lost,Retransmission 2",
    }


def test_a_trimmed_packet_with_an_icrc_on_the_roce_port() -> None:
    packet = p.loss(dst_port=p.ROCE_PORT)
    options = ("-o", "csaud.verify_icrc:TRUE")
    shown = dissect(packet, "csaud.type", "csaud.loss_form", "csaud.icrc_status", EXPERT, options=options)
    assert len(packet) == 84
    assert shown == {
        "csaud.type": "3",
        "csaud.loss_form": "2",
        "csaud.icrc_status": "1",
        EXPERT: "A switch trimmed this packet: its payload is lost",
    }


def test_a_trimmed_packet_may_keep_some_of_its_payload() -> None:
    packet = bytearray(p.loss() + b"left")
    packet[2:4], packet[24:26] = (84).to_bytes(2, "big"), (64).to_bytes(2, "big")
    shown = dissect(bytes(packet), "csaud.loss_form", "csaud.payload", "csaud.payload_length")
    assert shown == {
        "csaud.loss_form": "1",
        "csaud.payload": b"left".hex(),
        "csaud.payload_length": "4",
    }


def test_the_bitmap_is_drawn() -> None:
    received = set(range(70)) - {3, 64, 65, 66}
    packet = p.control(p.STATE, received, 70, reason=2, from_rank=6, credit=99, cumulative=3)
    shown = dissect(
        packet, "_ws.col.Info", "csaud.control.bitmap.row", "csaud.control.bitmap.missing",
        "csaud.control.bitmap.missing_packets", EXPERT,
    )  # fmt: skip
    first = "#" * 3 + "." + "#" * 4 + " " + " ".join(["#" * 8] * 7)
    assert shown == {
        "_ws.col.Info": "STATE path gap, from rank 6, credit 99, 66 of 70 received, missing 3, 64-66,"
        f" message {p.MESSAGE}",
        "csaud.control.bitmap.row": f"  0  {first}, 64  ...###",
        "csaud.control.bitmap.missing": "4",
        "csaud.control.bitmap.missing_packets": "3, 64-66",
        EXPERT: "Missing: 3, 64-66",
    }
    lines = [line.strip() for line in text([packet], "-V").splitlines()]
    assert "Bitmap: 66 of 70 packets received, missing 3, 64-66" in lines
    assert "64  ...###" in lines


@pytest.mark.parametrize(("kind", "reason"), [(p.ABORT, 12), (p.PROBE, p.PING)])
@pytest.mark.parametrize("auth", [b"", bytes(8)], ids=["plain", "authenticated"])
def test_a_note_is_shown_as_text(kind: int, reason: int, auth: bytes) -> None:
    """Up to 200 bytes where a STATE has its bitmap; of a PROBE of a message it is a bitmap still."""
    note = ("MismatchError: " + "x" * 185).encode()
    packet = p.packet(kind, reason=reason, bitmap_bits=8 * len(note), bitmap=note + auth)
    shown = dissect(packet, "csaud.control.note", "csaud.control.bitmap", EXPERT)
    assert shown["csaud.control.note"] == note.decode()
    assert "csaud.control.bitmap" not in shown
    assert shown.get(EXPERT) == ("The job is aborted" if kind == p.ABORT else None)
    assert "note" in dissect(packet, "_ws.col.Info")["_ws.col.Info"]
    state = dissect(p.control(p.PROBE, {0}, 9, reason=0), "csaud.control.note", "csaud.control.bitmap")
    assert set(state) == {"csaud.control.bitmap"}


def test_what_the_experts_say() -> None:
    def message(packet: bytes) -> str | None:
        return dissect(packet, EXPERT).get(EXPERT)

    def patched(packet: bytes, at: int, value: bytes) -> bytes:
        return packet[:at] + value + packet[at + len(value) :]

    data = p.packet(p.DATA, payload=b"1234")
    assert message(data) is None
    assert message(p.packet(p.DATA, attempt=3)) == "Retransmission 3"
    assert message(p.packet(p.DATA, flags=p.ECN_ECHO)) == "Congestion was experienced (ECN echo)"
    assert message(p.packet(p.DATA, pkt_idx=7, pkt_total=7)) == "Packet 7 of 7"
    assert message(p.packet(p.DATA, pkt_total=513)) == "Packet 5 of 513"
    assert message(patched(data, 50, b"\x0b")) == "Unknown type"
    unfit = "LOSS, its flag TRIMMED and its UDP port do not fit together"
    assert message(p.packet(p.DATA, flags=p.TRIMMED)) == unfit
    assert unfit in str(message(p.loss(flags=0)))
    assert message(p.control(p.ABORT, reason=11)) == "The job is aborted"
    state = p.control(p.STATE, {0}, 9)
    assert message(patched(state, 80 + 22, b"\x00\x20")) == "A bitmap of 32 bits in 2 bytes"
    ping = p.packet(p.PROBE, reason=p.PING, bitmap_bits=8 * 201, bitmap=bytes(201))
    assert message(ping) == "A note of 1608 bits in 201 bytes"
    assert message(patched(data, 50, b"\x02")) == "A control packet has 24 bytes behind the CSA header"


def test_a_damaged_icrc_is_told_when_asked_for() -> None:
    packet = p.packet(p.DATA, payload=bytes(100), tos=0x50)
    damaged = packet[:-6] + b"\xff" + packet[-5:]
    routed = packet[:1] + b"\x03" + packet[2:8] + b"\x3f" + packet[9:]  # what routers change is not covered
    verify = ("-o", "csaud.verify_icrc:TRUE")
    names = ["csaud.icrc_status", EXPERT]
    assert fields([packet, routed, damaged], names, *verify) == [
        {"csaud.icrc_status": "1"},
        {"csaud.icrc_status": "1"},
        {"csaud.icrc_status": "0", EXPERT: "Bad iCRC"},
    ]
    assert dissect(damaged, *names) == {}


def test_the_icrc_over_ipv6_is_that_of_its_own_header() -> None:
    content = p.packet(p.DATA, payload=bytes(100))[28:-4]  # from BTH to the iCRC
    bth = BTH(content[:12] + bytes(4))
    bth.icrc = None  # scapy computes what is not set
    ip = IPv6(src="fd00:1::1", dst="fd00:1::2", tc=0xB8, fl=0x12345, hlim=9)
    packet = bytes(ip / UDP(sport=0xC003, dport=4791, chksum=0) / bth / Raw(content[12:]))
    routed = b"\x6f\xab\xcd\xef" + packet[4:7] + b"\x01" + packet[8:]
    other = packet[:39] + b"\x07" + packet[40:]  # the last byte of the destination
    names = ["csaud.pkt_idx", "csaud.icrc_status"]
    header = ETHERNET[:12] + b"\x86\xdd"
    shown = fields([packet, routed, other], names, "-o", "csaud.verify_icrc:TRUE", header=header)
    assert [one["csaud.icrc_status"] for one in shown] == ["1", "1", "0"]
    assert {one["csaud.pkt_idx"] for one in shown} == {"5"}


def test_what_is_not_ours_is_left_alone() -> None:
    data = p.packet(p.DATA, payload=b"1234")

    def patched(packet: bytes, at: int, value: bytes) -> bytes:
        return packet[:at] + value + packet[at + len(value) :]

    others = [
        patched(data, 48, b"\xc5\xb1"),  # magic
        patched(data, 48, b"\xc5\xa2"),  # version
        patched(data, 28, b"\x04"),  # opcode: RC SEND only
        p.packet(p.DATA, dst_qpn=1, payload=b"1234"),
        patched(p.loss(), 48, b"\xc5\xa2"),
        patched(p.loss(), 28, b"\x65"),
        p.loss(dst_qpn=1),
        p.packet(p.DATA, dst_port=4792),
        p.loss()[:60],
    ]
    # Wireshark then believes in EoIB, which does not keep ours from being shown.
    assert fields([*others, data], ["csaud.type"]) == [{}] * len(others) + [{"csaud.type": "0"}]


def test_a_bitmap_ends_before_the_tag_of_a_job_that_authenticates() -> None:
    bitmap, tag = b"\xff\xf0", b"TAGTAGTA"
    packet = bytearray(p.control(p.STATE, set(range(12)), 16))
    packet[-6:-6] = tag  # before two pad bytes and the iCRC
    for at in (2, 24):  # lengths of IPv4 and UDP
        packet[at : at + 2] = (int.from_bytes(packet[at : at + 2], "big") + len(tag)).to_bytes(2, "big")
    shown = dissect(bytes(packet), "csaud.control.bitmap", "csaud.control.tag")
    assert shown == {"csaud.control.bitmap": bitmap.hex(), "csaud.control.tag": tag.hex()}


def test_pad_bytes_without_a_payload_leave_none() -> None:
    packet = bytearray(p.packet(p.DATA, payload=b""))
    packet[29] |= 0x30
    shown = dissect(bytes(packet), "csaud.payload_length", EXPERT)
    assert shown["csaud.payload_length"] == "0"
    assert "No room for the pad bytes" in shown[EXPERT]


def test_frames_with_a_vlan_tag() -> None:
    tagged = ETHERNET[:12] + bytes.fromhex("81000005") + ETHERNET[12:]
    verify = ("-o", "csaud.verify_icrc:TRUE")
    shown = dissect(
        p.packet(p.DATA), "vlan.id", "csaud.pkt_idx", "csaud.icrc_status", options=verify, header=tagged
    )
    assert shown == {"vlan.id": "5", "csaud.pkt_idx": "5", "csaud.icrc_status": "1"}


def test_the_port_of_trimmed_packets_is_a_preference() -> None:
    moved = ("-o", "csaud.loss_port:50000")
    sent = [p.loss(), p.packet(p.LOSS, flags=p.TRIMMED, dst_port=50000)[:-4]]
    sent[1] = sent[1][:2] + (80).to_bytes(2, "big") + sent[1][4:24] + (60).to_bytes(2, "big") + sent[1][26:]
    assert fields(sent, ["csaud.type"], *moved) == [{}, {"csaud.type": "3"}]
    assert fields(sent, ["csaud.type"]) == [{"csaud.type": "3"}, {}]


def test_frames_that_the_capture_cut_short_are_shown_as_far_as_they_go(tmp_path: Path) -> None:
    lengths = [40, 60, 62, 63, 64, 80, 93, 94, 95, 117, 118, 120]
    cut = tmp_path / "cut.pcapng"
    sent = [p.packet(p.DATA, payload=bytes(64)), p.control(p.STATE, {1}, 100), p.loss()]
    with cut.open("wb") as out:
        writer = PcapngWriter(out, [Interface("h1-eth0", snaplen=max(lengths))])
        for kept in lengths:
            for packet in sent:
                frame = ETHERNET + packet
                writer.write(0, 0, frame[:kept], original_length=len(frame))
    lines = run(
        ["-r", str(cut), "-T", "fields", "-e", "_ws.col.Info", "-e", "csaud.payload_length"]
    ).splitlines()
    for n, kept in enumerate(lengths):
        data, state, loss = lines[3 * n : 3 * n + 3]
        if kept < 94:
            assert loss.startswith("cut short by the capture") == (kept >= 64)
        else:
            assert "DATA 5/300" in data and data.endswith("64 bytes\t64")
            assert "STATE cut short by the capture" in state
            assert loss.startswith("LOSS 5/300")


def test_filters_find_packets(tmp_path: Path) -> None:
    sent = [p.packet(p.DATA), p.packet(p.DATA, attempt=1, flags=p.RTX), p.loss(), p.control(p.STATE, {1}, 9)]
    file = capture(sent, tmp_path / "some.pcapng")

    def found(expression: str) -> list[int]:
        lines = run(["-r", str(file), "-Y", expression, "-T", "fields", "-e", "frame.number"]).split()
        return [int(line) for line in lines]

    assert found("csaud") == [1, 2, 3, 4]
    assert found("csaud.type == 0") == [1, 2]
    assert found("csaud.flags.rtx == 1") == [2]
    assert found("csaud.expert.loss") == [3]
    assert found(f'csaud.message == "{p.MESSAGE}" && csaud.type == 3') == [3]
    assert found("csaud.control.bitmap.missing > 3") == [4]


def test_the_dissector_is_one_file_that_is_documented() -> None:
    described = (DISSECTOR.parents[1] / "docs" / "dissector.md").read_text()
    listing = run(["-G", "fields"])
    names = [row.split("\t")[2] for row in listing.splitlines() if row.startswith("F\t")]
    ours = [name for name in names if name.startswith("csaud.")]
    assert len(ours) > 60
    missing = [name for name in ours if f"`{name}`" not in described]
    assert not missing, f"docs/dissector.md does not name {missing}"
