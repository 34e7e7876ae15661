"""How `csaud lab deploy` runs Ansible."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

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
        env={**os.environ, **variables},
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


def test_settings_of_ones_own_do_not_come_in_between(tmp_path: Path) -> None:
    playbook(tmp_path, "'true'")
    own = {"ANSIBLE_FORCE_COLOR": "1", "ANSIBLE_STDOUT_CALLBACK": "minimal"}
    with deploying(tmp_path, **own) as process:
        told, _ = process.communicate()
    assert process.returncode == 0 and "{'localhost': {'ok': 1, 'changed': 1," in told, told
