"""How `csaud lab deploy` runs Ansible."""

from __future__ import annotations

import os
import re
import select
import shlex
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from csaud_lab.deployment.playbook import PLAYBOOK
from csaud_lab.inventory import inventory
from jinja2 import Environment

from tests.lab.places import nowhere

_DEPLOYS = """
import sys
from pathlib import Path
from csaud_lab.deployment import run
from csaud_lab.site import load_site

run.before_deploying = lambda site: []
run.archive = lambda site, release: None
run.inventory = lambda site: {}
run.PLAYBOOK = Path("play.yml")
print(run.deploy(load_site(Path("lab.yaml")), print))
"""


def playbook(folder: Path, command: str) -> None:
    """Of one task, on this machine."""
    nowhere(folder)
    (folder / "play.yml").write_text(
        "- hosts: localhost\n  connection: local\n  gather_facts: false\n  tasks:\n"
        f"  - ansible.builtin.shell: {command}\n"
    )


def deploying(folder: Path, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _DEPLOYS],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL])
def test_a_deployment_that_is_killed_takes_its_tasks_along(tmp_path: Path, signum: signal.Signals) -> None:
    os.mkfifo(tmp_path / "began")
    began = os.open(tmp_path / "began", os.O_RDWR)  # which needs nobody to write
    playbook(tmp_path, f"echo $$ >{tmp_path}/began; exec sleep 1000")
    with deploying(tmp_path) as process:
        assert select.select([began], [], [], 60.0)[0], "Ansible does not begin"
        task = os.pidfd_open(int(os.read(began, 100)))
        os.close(began)
        process.send_signal(signum)
        try:
            assert select.select([task], [], [], 20.0)[0], "the task goes on"
        finally:
            if not select.select([task], [], [], 0)[0]:
                signal.pidfd_send_signal(task, signal.SIGKILL)
            os.close(task)
    playbook(tmp_path, "'true'")
    with deploying(tmp_path) as process:
        told, _ = process.communicate()
    assert process.returncode == 0, told
    assert list(tmp_path.glob("csaud-*")) == [], "what the one that was killed had for ssh is left"


def commands(tasks: Any) -> Iterator[str]:
    """Those that tasks run, as they are written."""
    for task in tasks:
        for module in ("command", "shell", "script"):
            if asked := task.get(f"ansible.builtin.{module}"):
                yield asked


def test_programs_may_have_blanks_in_their_paths(tmp_path: Path) -> None:
    """Each is one word of every command."""
    (tmp_path / "fw file.bin").touch()
    site = nowhere(tmp_path, 'nic: {firmware: "28", firmware_file: fw file.bin}\n')
    values = inventory(site)["all"]["vars"] | {"csaud_files": "/a b/files", "csaud_command": "/a b/csaud"}
    page = Environment()
    page.filters |= {"quote": shlex.quote, "basename": lambda path: Path(path).name}
    found = Counter[str]()
    for file in PLAYBOOK.parent.glob("roles/*/tasks/*.yml"):
        for command in commands(yaml.safe_load(file.read_text())):
            found.update(shlex.split(page.from_string(command).render(values)))
    assert found["/a b/csaud"] == 4 and found["/a b/files/flashes.py"] == found["csaud-fw file.bin"] == 1, (
        found
    )


def test_the_controllers_unit_may_have_blanks_and_percent_signs_in_its_paths(tmp_path: Path) -> None:
    """Which begin a word of systemd's own, but where there are two."""
    folder = tmp_path / "100% lab"
    folder.mkdir()
    values = inventory(nowhere(folder))["all"]["vars"] | {"csaud_command": "/a %b/csaud"}
    unit = PLAYBOOK.parent / "roles/controller/templates/csaud-controller.service"
    text = Environment().from_string(unit.read_text()).render(values)
    assert set(re.findall("%+", text)) == {"%%"}
    lines = text.replace("%%", "%").splitlines()
    assert f"WorkingDirectory={folder}" in lines  # all of the line, for systemd
    (start,) = (line.removeprefix("ExecStart=") for line in lines if line.startswith("ExecStart="))
    assert shlex.split(start) == ["/a %b/csaud", "controller", "run", "--run", f"{folder}/control/run"]


def test_settings_of_ones_own_do_not_come_in_between(tmp_path: Path) -> None:
    playbook(tmp_path, "'true'")
    own = {"ANSIBLE_FORCE_COLOR": "1", "ANSIBLE_STDOUT_CALLBACK": "minimal"}
    with deploying(tmp_path, **own) as process:
        told, _ = process.communicate()
    assert process.returncode == 0 and "{'localhost': {'ok': 1, 'changed': 1," in told, told
