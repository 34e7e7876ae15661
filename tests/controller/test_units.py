"""The units of systemd that docs/service.md shows and that a lab's controller gets."""

import re
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHOWN = re.search(r"```ini\n(.*?)```", (ROOT / "docs" / "service.md").read_text(), re.DOTALL)
LAB = ROOT / "lab/csaud_lab/playbooks/roles/controller/templates/csaud-controller.service"


def shown() -> dict[str, str]:
    """By file name."""
    assert SHOWN is not None
    parts = re.split(r"(?m)^# /etc/systemd/system/(\S+)\n", SHOWN[1])
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def read(text: str) -> ConfigParser:
    parser = ConfigParser(interpolation=None, strict=False, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(text)
    return parser


@pytest.mark.parametrize("text", [*shown().values(), LAB.read_text()], ids=[*shown(), "lab"])
def test_systemd_never_gives_a_unit_up(text: str) -> None:
    """By default five starts that fail within ten seconds, as before an address is there, are the last."""
    unit = read(text)
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"
    assert unit["Service"]["Restart"] == "always" and unit["Service"]["RestartSec"] == "1s"
    assert "network-online.target" in unit["Unit"]["After"].split()
    assert "network-online.target" in unit["Unit"]["Wants"].split(), "After alone starts it for nobody"


def test_the_controller_may_give_its_socket_to_the_group_that_it_is_told() -> None:
    """Whoever is not root gives files to groups of its own only."""
    service = read(shown()["csaud-controller.service"])["Service"]
    group = re.search(r"--group (\S+)", service["ExecStart"])
    assert group is not None
    assert service["User"] != "root" and service["SupplementaryGroups"].split() == [group[1]]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not on PATH")
def test_systemd_takes_the_units_that_are_shown(tmp_path: Path) -> None:
    files = []
    for name, text in shown().items():
        files.append(tmp_path / name)
        files[-1].write_text(text.replace("/opt/csaud/bin/csaud", "/bin/true"))
    words = ["systemd-analyze", "verify", "--man=no", *map(str, files)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
