"""Who may talk to the controller: users of this machine at its socket, hosts at the port for reports."""

from __future__ import annotations

import errno
import grp
import os
import pwd
import socket
import struct
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_address
from pathlib import Path

from csaud_controller.base.why import why
from csaud_controller.inventory import Fabric

_UCRED = struct.Struct("3i")
_PEER_GROUPS = 59  # SO_PEERGROUPS, asm-generic/socket.h
_MOST_GROUPS = 256
"""What Python's getsockopt has room for."""


class UnknownGroupError(ValueError):
    """There is no such group on this machine."""


def group_id(name: str) -> int:
    """The id of a group by its name; UnknownGroupError."""
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        raise UnknownGroupError(f"unknown group {name!r}") from None


def listen_at(path: Path, group: int | None) -> socket.socket:
    """A unix socket that its owner may connect to, and the group, whatever the umask; it does not listen yet,
    so nobody is in before it is."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        try:
            made.bind(str(path))
        except OSError as error:  # which does not name it
            raise OSError(error.errno or errno.ENAMETOOLONG, why(error), str(path)) from None
        try:
            if group is not None:
                _give(path, group)
            path.chmod(0o600 if group is None else 0o660)
        except BaseException:
            path.unlink()
            raise
    except BaseException:
        made.close()
        raise
    return made


def _give(path: Path, group: int) -> None:
    """Make a file that of a group; PermissionError says whose user would have to be in it."""
    try:
        os.chown(path, -1, group)
    except PermissionError as error:
        user, name = _name_of(os.geteuid()), grp.getgrgid(group).gr_name
        told = f"cannot be given to group {name}, of which user {user} is no member"
        raise PermissionError(error.errno, told, str(path)) from None


def _name_of(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


@dataclass(frozen=True)
class Peer:
    """The process at the other end of a unix socket, as the kernel tells."""

    pid: int
    user: int
    groups: frozenset[int]

    def __str__(self) -> str:
        return f"process {self.pid} of user {self.user}"

    @property
    def name(self) -> str:
        """Of the user; its number where it has none."""
        return _name_of(self.user)

    @property
    def may_speak_for_others(self) -> bool:
        """root, and the controller's own user."""
        return self.user in (0, os.geteuid())

    def is_allowed(self, group: int | None) -> bool:
        """root, the controller's own user, and members of the group."""
        return self.may_speak_for_others or group in self.groups


def peer_of(connection: socket.socket) -> Peer:
    """Who connected (SO_PEERCRED, SO_PEERGROUPS: what it was at that moment)."""
    pid, user, group = _UCRED.unpack(
        connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    )
    try:
        others = connection.getsockopt(socket.SOL_SOCKET, _PEER_GROUPS, 4 * _MOST_GROUPS)
    except OSError:  # it is in more groups than that
        others = b""
    found = struct.unpack(f"{len(others) // 4}I", others)
    return Peer(pid, user, frozenset({group, *found}))


@dataclass(frozen=True)
class Reporters:
    """Where path reports may come from over TCP."""

    fabric: Fabric
    networks: tuple[IPv4Network, ...] = ()
    """Beside the addresses of the fabric's hosts: where their other interfaces are."""

    def may_connect(self, address: str) -> bool:
        """Whether that is a host of the fabric, or in one of the networks."""
        within = (ip_address(address) in network for network in self.networks)
        return address in self.fabric.host_at or any(within)

    def may_report(self, address: str, host: str) -> bool:
        """Whether what comes from an address may be of this host: one of the fabric's, and of those
        only itself."""
        hosts = self.fabric.host_at
        return host in hosts and (address == host or address not in hosts)
