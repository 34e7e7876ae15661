"""LLDP probes are valid LLDP, read back, and never confused with anything else."""

from csaud_controller.control.announcing import announcements
from csaud_controller.inventory import End, leaf_spine
from csaud_controller.links.probes import Probe, decode, encode
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib.lldp import LLDPDU, LLDPDUChassisID, LLDPDUPortID
from scapy.layers.l2 import Ether

PROBES = st.builds(
    Probe,
    st.builds(End, st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,253}\Z"), st.integers(1, 127)),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
)


@given(PROBES)
def test_a_probe_is_read_back(probe: Probe) -> None:
    frame = encode(probe)
    assert len(frame) >= 60
    assert decode(frame) == probe


def test_scapy_reads_it_as_lldp() -> None:
    frame = Ether(encode(Probe(End("l1", 3), 1, 2)))
    assert frame.dst == "01:80:c2:00:00:0e"
    assert frame.haslayer(LLDPDU)
    assert frame[LLDPDUChassisID].id == b"l1"
    assert frame[LLDPDUPortID].id == b"3"


def test_each_host_is_told_the_port_that_it_is_wired_to() -> None:
    told = announcements(leaf_spine(2, 2), ("l1", "l2", "s1"))
    assert list(told) == ["l1", "l2"], "none at a spine"
    for shots in told.values():
        assert len(shots) == 2
        for out_of, frame in shots:
            read = Ether(frame)
            named = read[LLDPDUChassisID].id.decode(), int(read[LLDPDUPortID].id)
            assert named == (out_of.node, out_of.port)


@given(st.binary(max_size=100))
def test_noise_is_no_probe(noise: bytes) -> None:
    assert decode(bytes(12) + b"\x88\xcc" + noise) is None
    assert decode(noise) is None


@given(PROBES, st.integers(0, 59))
def test_a_truncated_probe_is_no_probe_or_the_same(probe: Probe, length: int) -> None:
    assert decode(encode(probe)[:length]) in (None, probe)
