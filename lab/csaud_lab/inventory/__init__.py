"""Ansible's inventory, made from the lab's file and the fabric's."""

from __future__ import annotations

import shlex
from typing import Any

from csaud_lab.site import Site

HOSTS, CONTROL = "csaud_hosts", "csaud_control"


def inventory(site: Site) -> dict[str, Any]:
    """In the form of Ansible's YAML inventories; every variable of ours begins with `csaud_`."""
    lab = site.lab
    return {
        "all": {
            "vars": {
                "csaud_prefix": str(lab.prefix),
                "csaud_python": lab.python,
                "csaud_wheels": str(site.wheels),
                "csaud_device": lab.device,
                "csaud_huge_pages": lab.huge_pages,
                "csaud_priorities": {str(dscp): priority for dscp, priority in lab.priorities.items()},
                "csaud_run": str(site.run),
                "csaud_fabric": str(site.fabric_file),
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
        "nics": [{"name": nic.name or "", "mac": nic.mac, "ip": str(nic.ip)} for nic in nics],
        "peers": [
            {"name": name, "ip": str(nic.ip), "mac": nic.mac}
            for name, those in others.items()
            for nic in those
        ],
        "huge_pages": site.lab.huge_pages,
        "priorities": {str(dscp): priority for dscp, priority in site.lab.priorities.items()},
        "device": site.lab.device,
    }
