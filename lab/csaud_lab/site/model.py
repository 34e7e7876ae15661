"""The lab's file, key by key: how its hosts are reached, and what they are to be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from csaud_controller.inventory.specs import Name
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Dscp = Annotated[int, Field(ge=0, le=63)]
Priority = Annotated[int, Field(ge=0, le=7)]
Port = Annotated[int, Field(ge=1, le=65535)]
Word = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.:%-]*$")]
"""Handed to ssh: it must not look like one of its options."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Ssh(_Strict):
    """How every host is reached, where its own entry says nothing else."""

    user: Word = "root"
    port: Port = 22
    key: Path | None = Field(default=None, description="private key; default: ssh's own choice")
    known_hosts: Path | None = Field(
        default=None, description="the hosts' keys, as ssh-keyscan prints them; default: the user's file"
    )
    become: bool = Field(default=False, description="the user is not root, and uses sudo without a password")


class Machine(_Strict):
    """One host, by the name that it has in the fabric."""

    address: Word | None = Field(default=None, description="for ssh; default: the host's name")
    user: Word | None = None
    port: Port | None = None


class Nic(_Strict):
    """What the hosts' NICs must be."""

    driver: str | None = Field(default=None, description="kernel driver: mlx5_core, ice, bnxt_en")
    firmware: str | None = Field(
        default=None, pattern=r"^\d+(\.\d+)*$", description="oldest version that will do: 28.39.1002"
    )
    firmware_file: Path | None = Field(
        default=None,
        description="for NICs with an older one, as `devlink dev flash` takes it; needs `firmware`",
    )


class Acceptance(_Strict):
    """What `csaud lab accept` runs."""

    elements: int = Field(default=1_048_576, ge=1024, description="float32 of each all-reduce")
    repeats: int = Field(default=4, ge=1, le=10_000, description="all-reduces of each part")
    loss: float = Field(
        default=0.02, gt=0, le=0.5, description="share of DATA that is cut or lost at uplinks"
    )
    seed: int = Field(default=1, ge=0, lt=2**32)
    ipv6: bool = Field(default=False, description="packets go over IPv6: every host has `ip6` in the fabric")


class Lab(_Strict):
    """A lab; relative paths start at the folder of its file."""

    fabric: Path = Field(description="the fabric file: switches, hosts, cables")
    directory: Path = Field(
        default=Path("/var/lib/csaud"), description="on this machine: what the controller keeps"
    )
    ssh: Ssh = Ssh()
    hosts: dict[Name, Machine] = Field(default_factory=dict)
    device: Literal["verbs", "soft"] = Field(default="verbs", description="what carries packets on hosts")
    nic: Nic = Nic()
    python: str = Field(
        default="python3",
        pattern=r"^[A-Za-z0-9_./-]+$",
        description="on hosts: name or path of a Python, 3.11 or newer; the wheels are for it",
    )
    prefix: Path = Field(default=Path("/opt/csaud"), description="where the host library lies on hosts")
    wheels: Path = Field(
        default=Path("wheels"), description="folder with csaud's wheel and all that it depends on"
    )
    packages: Path | None = Field(
        default=None, description="folder with *.deb that hosts get, such as those of libibverbs"
    )
    huge_pages: int = Field(default=0, ge=0, description="pages of 2 MiB that hosts reserve")
    priorities: dict[Dscp, Priority] = Field(
        default_factory=dict, description="DSCP: priority, at hosts' NICs; where they have DCB"
    )
    acceptance: Acceptance = Acceptance()
