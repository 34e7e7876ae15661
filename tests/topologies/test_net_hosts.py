"""Links to hosts: a host whose interface goes down is told of by the controller, and no table moves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from csaud_controller.links.host_ports import ANSWERS

from tests.topologies.fabrics import OUTSIDE, waiting_fabric
from tests.topologies.runs import PATIENCE_S, wait_for

pytestmark = [pytest.mark.root, pytest.mark.thorough]


def csaud(folder: Path, *words: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", "from csaud.cli import main; main()", *words, "--json"],
        cwd=folder, env=OUTSIDE, timeout=PATIENCE_S, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_a_host_that_is_silent_is_told_of_and_no_table_moves(tmp_path: Path) -> None:
    with waiting_fabric(tmp_path, "leaf-spine-2x2") as fabric:

        def links() -> dict[str, Any]:
            return {each["host"]: each for each in csaud(tmp_path, "link", "show")["hosts"]}

        def heard() -> dict[str, bool | None]:
            return {host: each["up"] for host, each in links().items()}

        def talks(host: str, other: str) -> None:
            """Who was never heard is not asked: these hosts send nothing of themselves."""
            said = fabric.net("exec", "--host", host, "--", "ping", "-c", "1", "-W", "5", other)
            assert said.returncode == 0, said.stdout

        def written() -> dict[str, int]:
            shown = csaud(tmp_path, "fabric", "show")
            return {name: each["updates"] for name, each in shown["switches"].items()}

        talks("h1", "h3")
        talks("h2", "h4")
        wait_for(lambda: all(heard().values()), "all four hosts")
        wait_for(lambda: links()["h3"]["answered"] >= ANSWERS, "answers of h3")
        before = written()
        assert (
            fabric.net("exec", "--host", "h3", "--", "ip", "link", "set", "h3-eth0", "down").returncode == 0
        )
        wait_for(lambda: heard()["h3"] is False, "h3 to be missed")
        shown = csaud(tmp_path, "link", "show", "h3")["hosts"]
        assert [(each["link"], each["at"], each["failures"]) for each in shown] == [("l2-h3", "l2:3", 1)]
        assert fabric.net("exec", "--host", "h3", "--", "ip", "link", "set", "h3-eth0", "up").returncode == 0
        talks("h3", "h1")
        wait_for(lambda: heard()["h3"], "h3 to be heard again")
        events = [each for each in csaud(tmp_path, "fabric", "show")["events"] if each["what"] == "l2-h3"]
        assert [each["up"] for each in events] == [False, True]
        assert written() == before
