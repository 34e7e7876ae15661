"""The files of a rehearsed lab: what one writes for a real one, but for addresses."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml
from csaud_controller.inventory import Fabric

from csaud_lab.rehearsal.papers import SERVER_NAME

_RATE, _BUFFER = 100_000_000, 1024
_TLS = {"cert": f"pki/{SERVER_NAME}.pem", "key": f"pki/{SERVER_NAME}.key", "cacert": "pki/ca.pem"}
_CLIENT = {"cacert": "pki/ca.pem", "cert": "pki/controller.pem", "key": "pki/controller.key"}


def as_lab(fabric: Fabric, target: str) -> Fabric:
    """A fabric by name with switches of a target, and links that they and their hosts can fill."""
    link = fabric.link.model_copy(update={"rate": _RATE, "buffer": _BUFFER})
    specs = {name: spec.model_copy(update={"target": target}) for name, spec in fabric.switches.items()}
    return fabric.model_copy(update={"link": link, "switches": specs})


def write(folder: Path, fabric: Fabric, hosts: dict[str, str], wheels: Path, device: str) -> Path:
    """fabric.yaml and lab.yaml; returns the latter. `hosts`: their addresses by name."""
    described = fabric.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    described |= {
        "tls": {**_TLS, "client_auth": True},
        "tls_client": {**_CLIENT, "server_name": SERVER_NAME},
    }
    _yaml(folder / "fabric.yaml", described)
    python = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    lab: dict[str, Any] = {
        "fabric": "fabric.yaml",
        "directory": "control",
        "ssh": {"key": "ssh/id_ed25519", "known_hosts": "ssh/known_hosts"},
        "hosts": {name: {"address": address} for name, address in hosts.items()},
        "device": device,
        "python": str(python),
        "wheels": str(wheels),
        "acceptance": {"elements": 262_144, "repeats": 2, "ipv6": _is_ipv6(fabric)},
    }
    _yaml(folder / "lab.yaml", lab)
    return folder / "lab.yaml"


def _is_ipv6(fabric: Fabric) -> bool:
    return all(spec.ip6 is not None for spec in fabric.hosts.values())


def _yaml(path: Path, value: Any) -> None:
    path.write_text(yaml.safe_dump(value, sort_keys=False))
