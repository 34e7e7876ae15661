"""The lab's file and its fabric's, read together: every mistake of both at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from csaud_controller.base.yamlfile import ConfigError, FieldError, blame, load_model, parse_yaml
from csaud_controller.inventory import End, Fabric, interface, load_fabric

from csaud_lab.site.model import Lab


@dataclass(frozen=True)
class Site:
    """A lab and its fabric, both checked."""

    file: Path
    lab: Lab
    fabric: Fabric

    @property
    def folder(self) -> Path:
        """Where relative paths of the file start."""
        return self.file.absolute().parent

    @property
    def fabric_file(self) -> Path:
        return self.folder / self.lab.fabric

    @property
    def directory(self) -> Path:
        """What the controller keeps, on this machine."""
        return self.folder / self.lab.directory

    @property
    def run(self) -> Path:
        """The directory of the run."""
        return self.directory / "run"

    @property
    def wheels(self) -> Path:
        return self.folder / self.lab.wheels

    @cached_property
    def key(self) -> Path | None:
        return None if self.lab.ssh.key is None else self.folder / self.lab.ssh.key

    @cached_property
    def known_hosts(self) -> Path | None:
        return None if self.lab.ssh.known_hosts is None else self.folder / self.lab.ssh.known_hosts

    @property
    def packages(self) -> Path | None:
        return None if self.lab.packages is None else self.folder / self.lab.packages

    @property
    def firmware_file(self) -> Path | None:
        return None if self.lab.nic.firmware_file is None else self.folder / self.lab.nic.firmware_file

    def address(self, host: str) -> str:
        """Where ssh finds a host."""
        return (self.lab.hosts[host].address if host in self.lab.hosts else None) or host

    def user(self, host: str) -> str:
        return (self.lab.hosts[host].user if host in self.lab.hosts else None) or self.lab.ssh.user

    def port(self, host: str) -> int:
        return (self.lab.hosts[host].port if host in self.lab.hosts else None) or self.lab.ssh.port

    def ssh_options(self) -> list[str]:
        """What ssh is told besides: it never asks, and takes no host with another key."""
        options = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]
        if self.known_hosts is not None:
            known = f"UserKnownHostsFile={_one_word(self.known_hosts)}"
            options += ["-o", known, "-o", "GlobalKnownHostsFile=/dev/null"]
        if self.key is not None:
            options += ["-o", f"IdentityFile={_one_word(self.key)}", "-o", "IdentitiesOnly=yes"]
        return options

    def port_names(self, end: End) -> set[str]:
        """What a switch may call one of its ports by LLDP."""
        own = self.fabric.switches[end.node].interfaces.get(end.port)
        return {str(end.port), interface(end.node, end.port), *([own] if own else [])}


def _one_word(path: Path) -> str:
    """As ssh reads it in an option, which may be several words, and where % begins a word of its own."""
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def load_site(file: Path) -> Site:
    """ConfigError on any mistake; its text has all those of both files, each with file, line and key."""
    found: list[ConfigError] = []
    try:
        lab = load_model(file, Lab)
    except ConfigError as error:
        raise _together([*error.all, *_those_of_the_fabric(file)]) from None
    fabric: Fabric | None = None
    try:
        fabric = load_fabric(file.absolute().parent / lab.fabric)
    except ConfigError as error:
        found += error.all
    site = Site(file, lab, fabric) if fabric is not None else None
    beyond = blame(file.read_text(encoding="utf-8"), str(file), _beyond(file.absolute().parent, lab, fabric))
    found += [] if beyond is None else beyond.all
    if site is None or found:
        raise _together(found)
    return site


def _together(found: Sequence[ConfigError]) -> ConfigError:
    first, *others = found
    return ConfigError(first.file, first.line, first.key, first.message, others)


def _those_of_the_fabric(file: Path) -> list[ConfigError]:
    """Mistakes of the fabric that a lab's file names, which has mistakes of its own."""
    try:
        value, _ = parse_yaml(file.read_text(encoding="utf-8"), str(file))
        named = value.get("fabric") if isinstance(value, dict) else None
        if isinstance(named, str):
            load_fabric(file.absolute().parent / named)
    except ConfigError as error:
        return [each for each in error.all if each.file != str(file)]  # its own are told already
    except (OSError, UnicodeDecodeError):
        pass
    return []


def _beyond(folder: Path, lab: Lab, fabric: Fabric | None) -> Iterator[FieldError]:
    """Mistakes that a good file does not show by itself."""
    for key, path in (("key", lab.ssh.key), ("known_hosts", lab.ssh.known_hosts)):
        if path is not None and not (folder / path).is_file():
            yield FieldError(("ssh", key), f"no such file: {folder / path}")
    if lab.packages is not None and not list((folder / lab.packages).glob("*.deb")):
        yield FieldError(("packages",), f"no *.deb in {folder / lab.packages}")
    if (file := lab.nic.firmware_file) is not None:
        if not (folder / file).is_file():
            yield FieldError(("nic", "firmware_file"), f"no such file: {folder / file}")
        if lab.nic.firmware is None:
            yield FieldError(
                ("nic", "firmware_file"), "expected `firmware` beside it: the oldest that will do"
            )
    if not lab.prefix.is_absolute():
        yield FieldError(("prefix",), f"expected an absolute path on hosts, got {lab.prefix}")
    if fabric is None:
        return
    for name in lab.hosts:
        if name not in fabric.hosts:
            known = ", ".join(fabric.hosts)
            yield FieldError(("hosts", name), f"the fabric has no such host; expected one of {known}")
    if len(fabric.hosts) < 2:
        yield FieldError(("fabric",), f"a lab needs two hosts or more, {fabric.name} has {len(fabric.hosts)}")
    if lab.acceptance.ipv6 and (without := [h for h, spec in fabric.hosts.items() if spec.ip6 is None]):
        told = f"{lab.fabric} gives no `ip6` to {', '.join(without)}"
        yield FieldError(("acceptance", "ipv6"), told)
    seen: dict[tuple[str, int], str] = {}
    for name in fabric.hosts:
        own = lab.hosts.get(name)
        reached = ((own.address if own else None) or name, (own.port if own else None) or lab.ssh.port)
        if reached in seen:
            loc = ("hosts", name, "address")
            yield FieldError(loc, f"{reached[0]} port {reached[1]} is also that of {seen[reached]}")
        seen.setdefault(reached, name)
    for name, spec in fabric.switches.items():
        if spec.p4runtime is None:
            yield FieldError(("fabric",), f"{lab.fabric}: switches.{name}.p4runtime: missing: a lab needs it")
        elif spec.p4runtime.startswith("unix:"):
            what = f"{lab.fabric}: switches.{name}.p4runtime: expected host:port, got {spec.p4runtime}"
            yield FieldError(("fabric",), what)
