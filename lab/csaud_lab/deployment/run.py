"""One deployment: what cannot be is refused before anything is changed, then Ansible does its work."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from csaud_controller.run.directory import RunDir
from csaud_runs.errors import RunError
from csaud_runs.whole import write_whole

from csaud_lab.checks.all import before_deploying
from csaud_lab.deployment.playbook import PLAYBOOK, ends_with_this_process, environment
from csaud_lab.deployment.sockets import folder_of_sockets
from csaud_lab.inventory import inventory
from csaud_lab.inventory.wheels import archive, release_of
from csaud_lab.site import Site, alone

_RECAP = re.compile(r"^(\S+)\s+: (ok=\d+\s+changed=\d+.*)$")


def deploy(site: Site, say: Callable[[str], None]) -> dict[str, dict[str, int]]:
    """Of each machine, Ansible's counts: `changed` is 0 where all was as it should be.

    RunError: refused before anything was changed, or Ansible failed; what it did by then stays, and the next
    deployment goes on from there.
    """
    if wrong := [each for each in before_deploying(site) if each.level == "problem"]:
        told = "\n".join(f"  {each.where}: {each.what}" for each in wrong)
        raise RunError(f"nothing was changed, because of {len(wrong)} problems:\n{told}")
    if shutil.which("ansible-playbook", path=str(Path(sys.executable).parent)) is None:
        raise RunError("ansible-playbook is missing: pip install 'csaud[lab]'")
    site.run.mkdir(parents=True, exist_ok=True)
    with alone(site, "deploy"):
        _begin(site)
        archive(site, release_of(site))
        return _play(site, say)


def _begin(site: Site) -> None:
    """The controller's fabric, where it has none yet; from then on it is changed by `csaud fabric apply`."""
    run = RunDir(site.run)
    if not run.fabric_file.exists():
        write_whole(run.fabric_file, run.with_sockets(site.fabric).to_json())


def _play(site: Site, say: Callable[[str], None]) -> dict[str, dict[str, int]]:
    listed = site.directory / "inventory.json"
    listed.write_text(json.dumps(inventory(site), indent=1))
    found: dict[str, dict[str, int]] = {}
    with (
        folder_of_sockets(site) as sockets,
        (site.directory / "deploy.log").open("w") as log,
    ):
        command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(listed), str(PLAYBOOK)]
        process = subprocess.Popen(
            command,
            cwd=site.folder,
            env=environment(sockets),
            preexec_fn=ends_with_this_process(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert process.stdout is not None
        for line in process.stdout:
            log.write(line)
            if counts := _RECAP.match(line):
                found[counts[1]] = {k: int(n) for k, n in (word.split("=") for word in counts[2].split())}
            elif line.strip() and not line.startswith("PLAY RECAP"):
                say(line.rstrip())
        if process.wait() != 0:
            raise RunError(f"Ansible ended with status {process.returncode}; all that it said: {log.name}")
    return found
