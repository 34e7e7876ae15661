"""How a rank takes its seat: with a device, a card that names it, a door for later, and the table of all."""

import contextlib
import dataclasses
import secrets
import socket
from collections.abc import Callable

from csaud.config import settings as settings_table
from csaud.config.launch import Launch
from csaud.config.settings import Settings
from csaud.devices import Opened, open_device
from csaud.errors import ConfigError
from csaud.network import addresses, job_secret
from csaud.network.connections import connect, listen
from csaud.rendezvous.guest import Guest
from csaud.rendezvous.host import Host
from csaud.rendezvous.table import Card, Table, make_table
from csaud.start.sharing import memory_place

_SMALLEST_MTU = 256  # bytes
_BACKLOG = 128


@dataclasses.dataclass(frozen=True, slots=True)
class Seat:
    """What a rank has when it has met the others.

    Attributes:
        uid: this process's name.
        listener: for its membership service.
    """

    opened: Opened
    table: Table
    uid: str
    listener: socket.socket


def meet(
    place: Launch,
    settings: Settings,
    cleanup: contextlib.ExitStack,
    announce: Callable[[int], object] | None = None,
) -> Seat:
    """Open the device, whose address and QP number go onto this rank's card, and meet the others.

    Args:
        announce: rank 0 calls it with the port at which it listens.
    """
    given = own_address(settings)
    master = _meeting_point(place, given)
    uid = secrets.token_hex(8)
    agreed = settings_table.agreed(settings)
    secret = job_secret.credentials(settings)
    if place.world == 1:
        opened = _open(settings, given or "127.0.0.1", cleanup)
        listener = open_door(opened.address, settings, cleanup)
        table = make_table([make_card(0, settings, opened, opened.address, uid, listener)], settings.epoch)
        return Seat(opened, table, uid, listener)
    if place.rank == 0:
        with contextlib.closing(Host(master, place.master_port, place.world, agreed, secret)) as host:
            if announce is not None:
                announce(host.port)
            if addresses.is_unspecified(master):  # no address to send to: the others know one that leads here
                master = host.reached_at(settings.store_timeout)
                if given and addresses.is_loopback(master):  # it was a rank of this host
                    master = given
            listener = open_door(master, settings, cleanup)
            opened = _open(settings, given or master, cleanup)
            card = make_card(0, settings, opened, master, uid, listener)
            table = host.gather(card, settings.epoch, settings.store_timeout)
        return Seat(opened, table, uid, listener)
    connection = connect(master, place.master_port, settings.store_timeout)
    with contextlib.closing(Guest(connection, secret)) as guest:
        listener = open_door(guest.local_address, settings, cleanup)
        opened = _open(settings, given or guest.local_address, cleanup)
        card = make_card(place.rank, settings, opened, master, uid, listener)
        table = guest.join(card, place.world, settings.store_timeout, agreed)
    return Seat(opened, table, uid, listener)


def _open(settings: Settings, address: str, cleanup: contextlib.ExitStack) -> Opened:
    opened = open_device(settings, address)
    cleanup.callback(opened.close)
    return opened


def _meeting_point(place: Launch, given: str) -> str:
    """Where rank 0 is reached, or listens; `given`: the address that the user gave.

    Raises:
        ConfigError: this host has several ranks, and knows no address of rank 0 that the other hosts have.
    """
    name = place.master_addr
    found = addresses.resolve(name, "MASTER_ADDR")
    if place.local_world == place.world or not addresses.is_own_name(name, found):
        return found
    if place.local_world > 1 and not given:
        raise ConfigError(
            f"MASTER_ADDR={name!r} is {found} on this host (/etc/hosts), which others cannot reach: give an "
            "address of the host instead"
        )
    if place.rank != 0:
        return found
    return "::" if addresses.is_ipv6(found) else "0.0.0.0"


def own_address(settings: Settings) -> str:
    """The address that the user gave, "" where none was."""
    return addresses.resolve(settings.address, "address") if settings.address else ""


def open_door(address: str, settings: Settings, cleanup: contextlib.ExitStack) -> socket.socket:
    """Where this rank listens for the other members, and for newcomers."""
    listener = listen(address, settings.member_port, _BACKLOG, "member_port")
    cleanup.callback(listener.close)
    return listener


def make_card(
    rank: int, settings: Settings, opened: Opened, other: str, uid: str, listener: socket.socket
) -> Card:
    """What the others are told of this rank; `other`: an address of the job, for the MTU of the way there."""
    link = addresses.link_mtu(opened.address, other)
    if settings.mtu == 0:
        overhead = addresses.packet_overhead(opened.address)
        mtu = min(addresses.largest_path_mtu(link, overhead), opened.max_mtu)
    elif settings.mtu < _SMALLEST_MTU:
        raise ConfigError(f"mtu={settings.mtu}: expected 0 or {_SMALLEST_MTU} to 4096 (bytes)")
    else:
        mtu = settings.mtu
    door = addresses.with_port(*listener.getsockname()[:2])
    memory = "" if opened.share is None else memory_place()
    return Card(rank, opened.address, opened.qpn, mtu, opened.mode, uid, door, memory, opened.trains)


def start_device(opened: Opened, table: Table) -> None:
    """A queue pair of an RDMA device receives from here on; nobody sends before all such can receive."""
    if opened.start is not None:
        try:
            opened.start(table.qkey)
        except OSError as error:
            raise ConfigError(f"cannot start the device: {error}") from None


def check_routes(table: Table, opened: Opened) -> None:
    """ConfigError where the way to a rank does not carry the packets: else they would vanish without a
    word."""
    for card in table.cards:
        if narrow := too_narrow(opened.address, table.mtu, card, f"rank {card.rank}"):
            raise ConfigError(narrow)


def too_narrow(address: str, mtu: int, card: Card, whose: str) -> str:
    """Why the way from `address` to the one on this card does not carry packets of `mtu`; empty: it does.

    Raises:
        ConfigError: there is no way.
    """
    needed = mtu + addresses.packet_overhead(address)
    link = addresses.link_mtu(address, card.address)
    if link >= needed:
        return ""
    return (
        f"the route from {address} to {whose} at {card.address} has an MTU of {link} bytes, mtu={mtu} needs "
        f"{needed}"
    )
