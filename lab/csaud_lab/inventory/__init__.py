"""Ansible's inventory, made from the lab's file and the fabric's."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from csaud_controller.inventory import Nic

from csaud_lab.inventory.wheels import archive_of, release_of
from csaud_lab.site import Site

HOSTS, CONTROL = "csaud_hosts", "csaud_control"
_FILES = Path(__file__).resolve().parents[1] / "machines"
"""Programs that run on hosts."""


def inventory(site: Site) -> dict[str, Any]:
    """In the form of Ansible's YAML inventories; every variable of ours begins with `csaud_`."""
    lab, release = site.lab, release_of(site)
    return {
        "all": {
            "vars": {
                "csaud_prefix": str(lab.prefix),
                "csaud_python": lab.python,
                "csaud_release": release,
                "csaud_archive": str(archive_of(site, release)),
                "csaud_files": str(_FILES),
                "csaud_packages": _path(site.packages),
                "csaud_nic": {
                    "driver": lab.nic.driver or "",
                    "firmware": lab.nic.firmware or "",
                    "firmware_file": _path(site.firmware_file),
                },
                "csaud_device": lab.device,
                "csaud_run": str(site.run),
                "csaud_fabric": str(site.fabric_file),
                "csaud_folder": str(site.folder),
                "csaud_command": str(Path(sys.executable).with_name("csaud")),
            },
            "children": {
                HOSTS: {
                    "vars": {
                        "ansible_ssh_common_args": shlex.join(site.ssh_options()),
                        "ansible_become": lab.ssh.become,
                        "ansible_python_interpreter": "/usr/bin/python3",
                    },
                    "hosts": {host: _host(site, host) for host in site.fabric.hosts},
                },
                CONTROL: {
                    "hosts": {
                        "control": {
                            "ansible_connection": "local",
                            "ansible_python_interpreter": "{{ ansible_playbook_python }}",
                        }
                    }
                },
            },
        }
    }


def _path(path: Path | None) -> str:
    return "" if path is None else str(path)


def _host(site: Site, host: str) -> dict[str, Any]:
    return {
        "ansible_host": site.address(host),
        "ansible_user": site.user(host),
        "ansible_port": site.port(host),
        "csaud_host": settings(site, host),
    }


def settings(site: Site, host: str) -> dict[str, Any]:
    """What a host is to be: /etc/csaud/host.json, which its own set-up reads at every boot."""
    nics = site.fabric.hosts[host].all_nics
    others = {name: spec.all_nics for name, spec in site.fabric.hosts.items() if name != host}
    return {
        "name": host,
        "mtu": site.fabric.mtu,
        "nics": [{"name": nic.name or "", **_nic(nic)} for nic in nics],
        "peers": [{"name": name, **_nic(nic)} for name, those in others.items() for nic in those],
        "huge_pages": site.lab.huge_pages,
        "priorities": {str(dscp): priority for dscp, priority in site.lab.priorities.items()},
    }


def _nic(nic: Nic) -> dict[str, str]:
    return {"mac": nic.mac, "ip": str(nic.ip), **({"ip6": str(nic.ip6)} if nic.ip6 else {})}
