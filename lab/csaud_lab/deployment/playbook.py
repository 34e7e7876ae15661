"""Where the playbook lies, and how Ansible is to behave."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).resolve().parents[1] / "playbooks"
PLAYBOOK = _FOLDER / "deploy.yml"


def environment(sockets: str) -> dict[str, str]:
    """For ansible-playbook. `sockets`: a folder for those of ssh; their names must be short, and they belong
    to these addresses here and now."""
    return {
        "ANSIBLE_CONFIG": str(_FOLDER / "ansible.cfg"),
        "ANSIBLE_HOME": f"{sockets}/home",
        "ANSIBLE_LOCAL_TEMP": f"{sockets}/local",
        "ANSIBLE_SSH_CONTROL_PATH_DIR": sockets,
    }
