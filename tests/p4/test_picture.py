"""docs/architecture.md draws a packet's way through the program: the controls that it meets, in order."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = (ROOT / "p4src/v1model/csaud.p4").read_text()


def applied(control: str) -> list[str]:
    """What a control applies, in the order of the file."""
    body = PROGRAM.partition(f"control {control}(")[2].partition("\n}")[0]
    names = {name: kind for kind, name in re.findall(r"^    (\w+)\(\) (\w+);", body, re.MULTILINE)}
    return [names[name] for name in re.findall(r"(\w+)\.apply\(", body)]


def test_the_picture_has_every_control_that_a_packet_meets() -> None:
    parser, verify, _, _, update, deparser = re.findall(r"(\w+)\(\)", PROGRAM.partition("V1Switch(")[2])
    section = (ROOT / "docs/architecture.md").read_text().partition("### A packet through the switch\n")[2]
    drawn = re.findall(r"^   (?:ingress |egress  |        )  ([A-Z]\w+)  ", section, re.MULTILINE)
    way = [parser, verify, *applied("CsaudIngress"), *applied("CsaudEgress"), update, deparser]
    assert len(way) > 15
    assert drawn == way
