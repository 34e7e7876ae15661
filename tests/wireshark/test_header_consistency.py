"""The bit rulers of the document, the P4 program, the native codec and the dissector agree on the headers.

Each is altered in turn, to see that the comparison notices.
"""

from __future__ import annotations

import functools
import json
import struct
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from csaud import _core

from tests.support.marks import thorough
from tests.wireshark import layout as l
from tests.wireshark import numbers
from tests.wireshark import packets as p
from tests.wireshark.tshark import DISSECTOR, ROOT, fields, needs_tshark, run

DOCUMENT = ROOT / "docs" / "protocol.md"
P4_HEADERS = ROOT / "p4src" / "shared" / "headers.p4"
P4_CONSTANTS = ROOT / "p4src" / "shared" / "constants.p4"
P4_COMPILED = ROOT / "p4src" / "artifacts" / "csaud.json"
NATIVE = ROOT / "hostlib" / "native"
CORE = NATIVE / "csaud_host"
PROBE = Path(__file__).with_name("wire_probe.cpp")

ETHERNET, IPV6, CSA_AT, CONTROL_AT = 14, 40, 48, 80
"""Bytes: of the Ethernet header; of IPv6's; in an IPv4 packet, of the CSA header and of what follows it."""

WIDTHS = {
    "type": 8, "flags": 8, "spray": 4, "cls": 3, "ordered": 1, "attempt": 8, "epoch": 16, "comm": 16,
    "step": 16, "coll_seq": 32, "src_rank": 16, "chunk": 16, "pkt_idx": 16, "pkt_total": 16, "path_id": 16,
    "path_seq": 16, "tx_ts": 32,
}  # fmt: skip
"""How many bits of each field the encoder is asked to set; that there are no more is seen in the result."""
CONTROL_WIDTHS = {
    "reason": 8, "flags": 8, "ecn_count": 16, "newest_tx_ts": 32, "echoed_path": 16, "path_first": 16,
    "path_count": 16, "from_rank": 16, "credit": 32, "cumulative": 16, "bitmap_bits": 16,
}  # fmt: skip
TRANSPORT = {
    "dst_qp": ("bth", "dst_qpn"),
    "psn": ("bth", "psn"),
    "qkey": ("deth", "qkey"),
    "src_qp": ("deth", "src_qpn"),
}


# --- each source by itself


def native_header(values: Mapping[str, int]) -> bytes:
    """The CSA header as the codec writes it."""
    packet: bytes = _core.wire.encode({**values, "ordered": bool(values.get("ordered", 0))})
    return packet[CSA_AT : CSA_AT + l.CSA_BITS // 8]


def native_control(values: Mapping[str, int]) -> bytes:
    """The control part as the codec writes it."""
    named = {"control_flags" if name == "flags" else name: value for name, value in values.items()}
    packet: bytes = _core.wire.encode({"type": p.STATE, **named})
    return packet[CONTROL_AT : CONTROL_AT + l.CONTROL_BITS // 8]


def native_decoder(headers: Sequence[bytes]) -> list[dict[str, int] | None]:
    """What the codec reads from a DATA packet with each of these CSA headers."""
    packet = p.packet(p.DATA, payload=bytes(24))
    answers = []
    for header in headers:
        fault, decoded = _core.wire.decode_any(packet[:CSA_AT] + header + packet[CONTROL_AT:])
        answers.append(None if fault != "none" else {name: int(decoded[name]) for name in WIDTHS})
    return answers


def dissector_decoder(dissector: Path) -> Callable[[Sequence[bytes]], list[dict[str, int] | None]]:
    """What the dissector shows of a DATA packet with each of these CSA headers."""

    def decode(headers: Sequence[bytes]) -> list[dict[str, int] | None]:
        sent = [p.packet(p.DATA, payload=bytes(24))[:CSA_AT] + header + bytes(28) for header in headers]
        names = [f"csaud.{name}" for name in WIDTHS]
        shown = fields(sent, names, dissector=dissector)
        return [{name: int(row[f"csaud.{name}"], 0) for name in WIDTHS} if row else None for row in shown]

    return decode


def dissector_control(dissector: Path) -> Callable[[Sequence[bytes]], list[dict[str, int] | None]]:
    """What the dissector shows of a CREDIT packet with each of these control parts."""

    def decode(parts: Sequence[bytes]) -> list[dict[str, int] | None]:
        packet = p.control(p.CREDIT)
        sent = [packet[:CONTROL_AT] + part + packet[CONTROL_AT + len(part) :] for part in parts]
        names = [f"csaud.control.{name}" for name in CONTROL_WIDTHS]
        shown = fields(sent, names, dissector=dissector)
        return [{name: int(row[f"csaud.control.{name}"], 0) for name in CONTROL_WIDTHS} for row in shown]

    return decode


@functools.cache
def header_of_dissector(dissector: Path) -> l.Layout:
    return l.of_decoder(dissector_decoder(dissector), native_header({}))


def header_layouts(
    document: str | None = None,
    source: str | None = None,
    artifact: str | None = None,
    dissector: Path = DISSECTOR,
) -> dict[str, l.Layout]:
    """The CSA header in every source; those that are not given are those of the repository."""
    return {
        "docs/protocol.md": l.of_document(document or DOCUMENT.read_text(), 0),
        "headers.p4": l.of_p4_source(source or P4_HEADERS.read_text(), "csa_t"),
        "csaud.json": l.of_compiled_p4(l.compiled(artifact or P4_COMPILED.read_text()), "csa"),
        "native codec": l.of_encoder(native_header, WIDTHS),
        "dissector": header_of_dissector(dissector),
    }


def control_layouts(document: str | None = None, dissector: Path = DISSECTOR) -> dict[str, l.Layout]:
    """The control part in every source that has it; a switch does not read it."""
    described = l.of_document(document or DOCUMENT.read_text(), 1)
    described.pop("bitmap", None)
    return {
        "docs/protocol.md": described,
        "native codec": l.of_encoder(native_control, CONTROL_WIDTHS),
        "dissector": l.of_decoder(dissector_control(dissector), bytes(l.CONTROL_BITS // 8)),
    }


# --- the comparison


@needs_tshark
def test_the_csa_header_is_the_same_everywhere() -> None:
    sources = header_layouts()
    assert l.differences(sources) == []
    for source, layout in sources.items():
        assert sum(width for _, width in layout.values()) == l.CSA_BITS, source


def test_the_codec_reads_what_it_writes() -> None:
    """Bit by bit. Values of magic, version and type are refused that are not known."""
    written = l.of_encoder(native_header, WIDTHS)
    refused = range(written[l.MAGIC][0], written["type"][0] + written["type"][1])
    base = native_header({})
    for at in range(l.CSA_BITS):
        flipped = bytearray(base)
        flipped[at // 8] ^= 0x80 >> at % 8
        before, after = native_decoder([base, bytes(flipped)])
        if at in refused:
            assert after is None or after["type"] != 0
            continue
        assert before is not None and after is not None
        (name,) = (name for name in WIDTHS if before[name] != after[name])
        first, width = written[name]
        assert after[name] == 1 << first + width - 1 - at, f"bit {at}"


@needs_tshark
def test_the_control_part_is_the_same_everywhere() -> None:
    sources = control_layouts()
    assert l.differences(sources) == []
    for source, layout in sources.items():
        assert sum(width for _, width in layout.values()) == l.CONTROL_BITS, source
    assert l.of_document(DOCUMENT.read_text(), 1)["bitmap"][0] == l.CONTROL_BITS


def test_headers_begin_where_the_document_says() -> None:
    described = l.frame_offsets(DOCUMENT.read_text())
    program = l.compiled(P4_COMPILED.read_text())
    over_ipv6 = described["ipv4"] + IPV6 - described["udp"]  # so much further behind
    assert l.parsed_offsets(program, "ipv4") == l.parsed_offsets(program, "ipv6") == {described["ipv4"]}
    for name in ("udp", "bth", "deth", "csa"):
        assert l.parsed_offsets(program, name) == {described[name], described[name] + over_ipv6}, name
    assert described["csa"] == ETHERNET + CSA_AT
    assert described["payload"] == ETHERNET + CONTROL_AT


@needs_tshark
def test_transport_headers_are_the_same_everywhere() -> None:
    """The fields of BTH and DETH that hosts and switches use; the dissector shows them in trimmed packets."""
    offsets = l.frame_offsets(DOCUMENT.read_text())
    text = P4_HEADERS.read_text()
    shown_as = {"dst_qp": "bth.destqp", "psn": "bth.psn", "qkey": "deth.qkey", "src_qp": "deth.srcqp"}
    program, codec, asked = {}, {}, []
    for name, (header, native) in TRANSPORT.items():
        at, width = l.of_p4_source(text, f"{header}_t")[name]
        program[name] = (offsets[header] * 8 + at, width)

        def encode(values: Mapping[str, int], native: str = native) -> bytes:
            packet: bytes = _core.wire.encode({native: values.get("field", 0)})
            return packet[28:CSA_AT]

        found, bits = l.of_encoder(encode, {"field": width})["field"]
        codec[name] = ((ETHERNET + 28) * 8 + found, bits)
        asked.append((name, width, native))
    assert program == codec
    for name, width, native in asked:
        values = [3 << n for n in range(width - 1)]
        rows = fields([p.loss(**{native: value}) for value in values], [f"csaud.{shown_as[name]}"])
        assert [int(row[f"csaud.{shown_as[name]}"], 0) for row in rows] == values


@needs_tshark
def test_numbers_are_the_same_everywhere() -> None:
    described = numbers.of_document(DOCUMENT.read_text())
    codec = numbers.of_codec_header((CORE / "wire/wire.hpp").read_text())
    program = numbers.of_p4(P4_CONSTANTS.read_text())
    values = run(["-G", "values"])
    assert described["type"] == codec["type"] == numbers.of_listing(values, "csaud.type")
    assert described["flag"] == codec["flag"]
    for name, flag in described["flag"].items():
        (row,) = fields([p.packet(p.DATA, flags=flag)], ["csaud.flags", *flag_names(described["flag"])])
        assert {field for field, value in row.items() if value == "1"} == {f"csaud.flags.{name.lower()}"}
    reasons = set(codec["reason"].values())
    assert reasons == set(numbers.of_listing(values, "csaud.control.reason").values())
    assert reasons - {0} == numbers.reasons_of_document(DOCUMENT.read_text())
    for constant, number in program.items():
        kind, _, name = constant.removeprefix("CSA_").partition("_")
        if constant.startswith(("CSA_TYPE_", "CSA_FLAG_")):
            assert described[kind.lower()][name] == number, constant
    assert program["CSA_MAGIC_AND_VERSION"] == struct.unpack(">H", native_header({})[:2])[0]


def flag_names(flags: Mapping[str, int]) -> list[str]:
    return [f"csaud.flags.{name.lower()}" for name in flags]


@needs_tshark
def test_ports_are_the_same_everywhere() -> None:
    program = numbers.of_p4(P4_CONSTANTS.read_text())
    config = _core.EndpointConfig()
    text = DOCUMENT.read_text()
    assert program["UDP_PORT_ROCE"] == config.roce_port
    assert program["UDP_PORT_LOSS"] == config.loss_port
    assert f" {config.roce_port} " in text and f"port {config.loss_port}" in text.replace("\n", " ")
    taken = [
        line.split("\t") for line in run(["-G", "decodes"]).splitlines() if line.startswith("udp.port\t")
    ]
    assert [int(row[1]) for row in taken if row[2] == "csaud"] == [config.loss_port]
    opcode = program["BTH_OPCODE_UD_SEND_ONLY"]
    assert p.packet(p.DATA)[28] == opcode


# --- the comparison notices


def disputed(layouts: Callable[[], dict[str, l.Layout]]) -> set[str]:
    """Fields that the sources do not agree on; a source that has no layout any more says of which field."""
    try:
        return {line.split(":")[0] for line in l.differences(layouts())}
    except ValueError as error:
        return {
            word
            for word in str(error).replace(":", "").split()
            if word in {*WIDTHS, *CONTROL_WIDTHS, l.MAGIC}
        }


def replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"{text.count(old)} times in the text: {old}"
    return text.replace(old, new)


@needs_tshark
@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        ("|             comm              |             step              |",
         "|             step              |             comm              |", {"comm", "step"}),
        ("|            pkt_idx            |           pkt_total           |",
         "|            pkt_idx        |               pkt_total           |", {"pkt_idx", "pkt_total"}),
        ("| spray | cls |o|    attempt    |", "|  spray  |cls|o|    attempt    |", {"spray", "cls"}),
        ("28 |                             tx_ts ", "32 |                             tx_ts ", {"tx_ts"}),
    ],
)  # fmt: skip
def test_an_altered_ruler_is_noticed(old: str, new: str, fields: set[str]) -> None:
    altered = replaced(DOCUMENT.read_text(), old, new)
    assert disputed(lambda: header_layouts(document=altered)) == fields


@needs_tshark
def test_an_altered_ruler_of_the_control_part_is_noticed() -> None:
    altered = replaced(DOCUMENT.read_text(), "|     flags     |           ECN count           |",
                       "|         flags         |       ECN count       |")  # fmt: skip
    assert disputed(lambda: control_layouts(document=altered)) == {"flags", "ecn_count"}


@needs_tshark
@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        (
            "    bit<16> epoch;\n    bit<16> comm;\n",
            "    bit<16> comm;\n    bit<16> epoch;\n",
            {"epoch", "comm"},
        ),
        ("    bit<16> path_seq;\n", "    bit<24> path_seq;\n", {"path_seq", "tx_ts"}),
        (
            "    bit<3> cls;\n    bit<1> ordered;\n",
            "    bit<2> cls;\n    bit<2> ordered;\n",
            {"cls", "ordered"},
        ),
        ("    bit<32> tx_ts;\n", "", {"tx_ts"}),
    ],
)
def test_an_altered_p4_header_is_noticed(old: str, new: str, fields: set[str]) -> None:
    altered = replaced(P4_HEADERS.read_text(), old, new)
    assert disputed(lambda: header_layouts(source=altered)) == fields


@needs_tshark
def test_an_altered_compiled_program_is_noticed() -> None:
    program = l.compiled(P4_COMPILED.read_text())
    before = {name: l.parsed_offsets(program, name) for name in ("bth", "csa")}
    kind = next(kind for kind in program["header_types"] if kind["name"] == "csa_t")
    kind["fields"][-1][1] += 8
    assert disputed(lambda: header_layouts(artifact=json.dumps(program))) == {"tx_ts"}
    for state in program["parsers"][0]["parse_states"]:
        if state["name"] == "parse_deth":
            state["parser_ops"] = []
    assert l.parsed_offsets(program, "bth") == before["bth"]
    assert l.parsed_offsets(program, "csa") != before["csa"]


@needs_tshark
@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        ("{ f.step, 10, 2 }, { f.coll_seq, 12, 4 }", "{ f.coll_seq, 10, 4 }, { f.step, 14, 2 }",
         {"step", "coll_seq"}),
        ("{ f.path_seq, 26, 2 }", "{ f.path_seq, 27, 1 }", {"path_seq"}),
        ('of criticality", base.DEC, nil, 0x0E', 'of criticality", base.DEC, nil, 0x06', {"cls"}),
        ("tvb:range(at, 2):uint() == MAGIC * 16 + VERSION", "tvb:range(at, 1):uint() == 0xC5", {l.MAGIC}),
    ],
)  # fmt: skip
def test_an_altered_dissector_is_noticed(old: str, new: str, fields: set[str], tmp_path: Path) -> None:
    altered = tmp_path / "csaud.lua"
    altered.write_text(replaced(DISSECTOR.read_text(), old, new))
    assert disputed(lambda: header_layouts(dissector=altered)) == fields


@needs_tshark
def test_an_altered_control_part_of_the_dissector_is_noticed(tmp_path: Path) -> None:
    altered = tmp_path / "csaud.lua"
    altered.write_text(replaced(DISSECTOR.read_text(), "{ f.credit, 16, 4 }", "{ f.credit, 18, 2 }"))
    assert disputed(lambda: control_layouts(dissector=altered)) == {"credit"}


@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        thorough("", "", set()),
        ("put16(p + 6, h.name.epoch);\n    put16(p + 8, h.name.comm);",
         "put16(p + 8, h.name.epoch);\n    put16(p + 6, h.name.comm);", {"epoch", "comm"}),
        thorough("(h.cls & 7U) << 1", "(h.cls & 7U) << 2", {"cls", l.MAGIC}),
    ],
)  # fmt: skip
def test_an_altered_codec_is_noticed(old: str, new: str, fields: set[str], tmp_path: Path) -> None:
    """The codec is compiled anew, with an alteration in it or none."""
    text = (CORE / "wire/wire.cpp").read_text()
    (tmp_path / "wire.cpp").write_text(replaced(text, old, new) if old else text)
    probe = tmp_path / "probe"
    compiler = ["g++", "-std=c++20", "-O0", f"-I{NATIVE}", "-o", str(probe)]
    parts = [tmp_path / "wire.cpp", CORE / "base/bitmap.cpp", PROBE]
    subprocess.run([*compiler, *map(str, parts)], check=True, timeout=120)

    def encode(values: Mapping[str, int]) -> bytes:
        words = [f"{name}={value}" for name, value in values.items()]
        done = subprocess.run([str(probe), *words], check=True, capture_output=True, text=True)
        return bytes.fromhex(done.stdout)

    described = l.of_document(DOCUMENT.read_text(), 0)
    assert disputed(lambda: {"document": described, "codec": l.of_encoder(encode, WIDTHS)}) == fields
