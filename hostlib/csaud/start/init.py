"""From the environment to a communicator: launcher, settings, device, rendezvous, endpoint, thread."""

import atexit
import contextlib
import dataclasses
import functools
import logging
import os
import secrets
import socket
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

from csaud import _core
from csaud.config import launch
from csaud.config import settings as settings_table
from csaud.config.launch import Launch
from csaud.config.settings import Settings
from csaud.devices import Opened, open_device
from csaud.errors import ConfigError
from csaud.groups.communicator import Communicator
from csaud.groups.path_reports import parse_address
from csaud.groups.transport import Transport
from csaud.membership.arbiter import Arbiter
from csaud.membership.newcomer import Newcomer, read_doors
from csaud.membership.service import Service
from csaud.membership.stores import open_arbiter
from csaud.network import addresses, job_secret
from csaud.network.connections import connect, listen
from csaud.rendezvous.guest import Guest
from csaud.rendezvous.host import Host
from csaud.rendezvous.table import Card, Table, make_table

log = logging.getLogger(__name__)

_SMALLEST_MTU = 256  # bytes
_BACKLOG = 128
_READY_TIMEOUT = 30.0  # s that newcomers are given to open their devices


def init(*, environ: Mapping[str, str] | None = None, **overrides: Any) -> Communicator:
    """Join the job that the environment describes (torchrun's or Open MPI's variables); every rank calls it.

    Without a launcher's variables this is a job of one rank.

    Args:
        environ: variables to read instead of those of the process.
        **overrides: settings by name, see `csaud settings`; they win over CSAUD_* variables.

    Raises:
        ConfigError: a setting or variable is wrong, or the device cannot be opened.
        RendezvousError: ranks are missing; it names them.
    """
    variables = os.environ if environ is None else environ
    settings = _settings(overrides, variables)
    place = launch.read(variables)
    if settings.store_port:
        place = dataclasses.replace(place, master_port=settings.store_port)
    with _closed_on_error() as cleanup:
        arbiter = open_arbiter(settings.arbiter, variables)
        seat = _meet(place, settings, cleanup)
        _check_routes(seat.table, seat.opened)
        _start_device(seat.opened, seat.table)
        service = _serve(seat, settings, arbiter, cleanup)
        if any(card.mode == "verbs" for card in seat.table.cards):
            service.arrive("ready", settings.store_timeout)
        return _communicator(settings, seat.opened, service, seat.uid, cleanup)


def join(
    doors: str, *, timeout: float = 60.0, environ: Mapping[str, str] | None = None, **overrides: Any
) -> Communicator:
    """Become a member of a job that runs, at the beginning of its next epoch: when its ranks call `reform()`.

    For spare ranks and for those that return. Ranks are numbered anew: newcomers come after those that were
    members before.

    Args:
        doors: "address:port" of a member (its `comm.door`), or of several, separated by commas.
        timeout: seconds to wait for that epoch.
        environ, **overrides: as for `init`; what launchers set is not looked at.

    Raises:
        ConfigError: a setting is wrong or another one than the job's, or the device cannot be opened.
        RendezvousError: no member is there, or none called `reform()` in time.
    """
    variables = os.environ if environ is None else environ
    settings = _settings(overrides, variables)
    with _closed_on_error() as cleanup:
        arbiter = open_arbiter(settings.arbiter, variables)
        newcomer = Newcomer(
            read_doors(doors, lambda host: addresses.resolve(host, "join")),
            timeout,
            job_secret.credentials(settings),
        )
        cleanup.callback(newcomer.close)
        local = newcomer.local_address
        listener = _listen(local, settings, cleanup)
        opened = open_device(settings, _own_address(settings) or local)
        uid = secrets.token_hex(8)
        card = _card(0, settings, opened, local, uid, listener)
        table = newcomer.wait(card, settings_table.agreed(settings))
        newcomer.close()
        _check_routes(table, opened)
        _start_device(opened, table)
        service = _serve(_Seat(opened, table, uid, listener), settings, arbiter, cleanup)
        _wait_for_newcomers(service, table)
        return _communicator(settings, opened, service, uid, cleanup)


def _settings(overrides: Mapping[str, Any], variables: Mapping[str, str]) -> Settings:
    settings = settings_table.load(overrides, variables)
    logging.getLogger("csaud").setLevel(settings.log.upper())
    if settings.controller:
        parse_address(settings.controller)
    if settings.auth != "off" and job_secret.credentials(settings) is None:
        raise ConfigError(
            f"auth={settings.auth} needs a secret (secret or secret_file): else its key is known"
        )
    return settings


def _communicator(
    settings: Settings, opened: Opened, service: Service, uid: str, cleanup: contextlib.ExitStack
) -> Communicator:
    """Endpoint and thread for ranks that have met."""
    table = service.table
    rank = next(card.rank for card in table.cards if card.uid == uid)
    _check_segmentation(table, opened, settings)
    config = _endpoint_config(rank, settings, table, opened)
    progress = _core.Progress(config, opened.native, settings.batch, settings.spin)
    for card in table.cards:
        if card.rank != rank:
            _set_peer(progress, card)
    progress.start()
    cleanup.callback(progress.stop)
    communicator = Communicator(
        Transport(progress), service, rank, len(table.cards), settings, opened.mode,
        functools.partial(_again, settings, opened, service, uid), table.epoch,
    )  # fmt: skip
    if settings.controller:
        communicator.report_paths(opened.ipv4)
    _stop_at_exit(communicator)
    log.info("rank %d of %d at %s, QP %#x, %s, epoch %d", rank, len(table.cards), opened.ipv4, opened.qpn,
             opened.mode, table.epoch)  # fmt: skip
    return communicator


def _set_peer(progress: _core.Progress, card: Card) -> None:
    try:
        progress.set_peer(card.rank, addresses.to_int(card.ipv4), card.qpn)
    except RuntimeError as error:  # the device has no way to it
        raise ConfigError(f"rank {card.rank}: {error}") from None


def _again(settings: Settings, opened: Opened, service: Service, uid: str) -> Communicator:
    """The job goes on in its next epoch, over the same device."""
    with _closed_on_error() as cleanup:
        cleanup.callback(service.close)
        _check_routes(service.table, opened)
        _wait_for_newcomers(service, service.table)
        return _communicator(settings, opened, service, uid, cleanup)


def _wait_for_newcomers(service: Service, table: Table) -> None:
    """RDMA devices of newcomers drop what comes before they know the job's Q_Key."""
    if any(card.mode == "verbs" for card in table.cards[table.members :]):
        service.arrive("ready", _READY_TIMEOUT)


@dataclasses.dataclass(frozen=True, slots=True)
class _Seat:
    """What a rank has when it has met the others.

    Attributes:
        uid: this process's name.
        listener: for its membership service.
    """

    opened: Opened
    table: Table
    uid: str
    listener: socket.socket


def _serve(seat: _Seat, settings: Settings, arbiter: Arbiter, cleanup: contextlib.ExitStack) -> Service:
    service = Service(
        seat.listener, seat.table, seat.uid, arbiter, settings_table.agreed(settings),
        job_secret.credentials(settings),
    )  # fmt: skip
    cleanup.callback(service.close)
    return service


def _listen(address: str, settings: Settings, cleanup: contextlib.ExitStack) -> socket.socket:
    listener = listen(address, settings.member_port, _BACKLOG, "member_port")
    cleanup.callback(listener.close)
    return listener


def _own_address(settings: Settings) -> str:
    return addresses.resolve(settings.address, "address") if settings.address else ""


def _meet(place: Launch, settings: Settings, cleanup: contextlib.ExitStack) -> _Seat:
    """Open the device, whose address and QP number go onto this rank's card, and meet the others."""
    master = addresses.resolve(place.master_addr, "MASTER_ADDR")
    given = _own_address(settings)
    uid = secrets.token_hex(8)
    agreed = settings_table.agreed(settings)
    secret = job_secret.credentials(settings)
    if place.world == 1:
        opened = open_device(settings, given or "127.0.0.1")
        listener = _listen(opened.ipv4, settings, cleanup)
        table = make_table([_card(0, settings, opened, opened.ipv4, uid, listener)], settings.epoch)
        return _Seat(opened, table, uid, listener)
    if place.rank == 0:
        with contextlib.closing(Host(master, place.master_port, place.world, agreed, secret)) as host:
            if addresses.is_unspecified(master):  # no address to send to: the others know one that leads here
                master = host.reached_at(settings.store_timeout)
            listener = _listen(master, settings, cleanup)
            opened = open_device(settings, given or master)
            card = _card(0, settings, opened, master, uid, listener)
            table = host.gather(card, settings.epoch, settings.store_timeout)
        return _Seat(opened, table, uid, listener)
    connection = connect(master, place.master_port, settings.store_timeout)
    with contextlib.closing(Guest(connection, secret)) as guest:
        listener = _listen(guest.local_address, settings, cleanup)
        opened = open_device(settings, given or guest.local_address)
        card = _card(place.rank, settings, opened, master, uid, listener)
        table = guest.join(card, place.world, settings.store_timeout, agreed)
    return _Seat(opened, table, uid, listener)


def _start_device(opened: Opened, table: Table) -> None:
    """A queue pair of an RDMA device receives from here on; nobody sends before all such can receive."""
    if opened.start is not None:
        try:
            opened.start(table.qkey)
        except OSError as error:
            raise ConfigError(f"cannot start the device: {error}") from None


def _card(
    rank: int, settings: Settings, opened: Opened, other: str, uid: str, listener: socket.socket
) -> Card:
    """`other`: an address of the job, for the MTU of the link there."""
    link = addresses.link_mtu(opened.ipv4, other)
    if settings.mtu == 0:
        mtu = min(addresses.largest_path_mtu(link), opened.max_mtu)
    elif settings.mtu < _SMALLEST_MTU:
        raise ConfigError(f"mtu={settings.mtu}: expected 0 or {_SMALLEST_MTU} to 4096 (bytes)")
    else:
        mtu = settings.mtu
    address, port = listener.getsockname()
    return Card(rank, opened.ipv4, opened.qpn, mtu, opened.mode, uid, f"{address}:{port}")


def _check_routes(table: Table, opened: Opened) -> None:
    """ConfigError where the way to a rank does not carry the packets: else they would vanish without a
    word."""
    needed = table.mtu + addresses.PACKET_OVERHEAD
    for card in table.cards:
        link = addresses.link_mtu(opened.ipv4, card.ipv4)
        if link < needed:
            raise ConfigError(
                f"the route from {opened.ipv4} to rank {card.rank} at {card.ipv4} has an MTU of "
                f"{link} bytes, mtu={table.mtu} needs {needed}"
            )


def _check_segmentation(table: Table, opened: Opened, settings: Settings) -> None:
    """Raw sockets and RDMA devices would get trains as they are: those need udp mode everywhere."""
    other = next((card for card in table.cards if card.mode != "udp"), None)
    if other is None:
        return
    if settings.segmentation == "on":
        raise ConfigError(
            f"segmentation=on needs mode=udp at every rank; rank {other.rank} uses {other.mode}"
        )
    if isinstance(opened.native, _core.UdpDevice):
        opened.native.set_segmentation(False)


def _authenticate(config: _core.EndpointConfig, settings: Settings, table: Table) -> None:
    if settings.auth == "off":
        return
    other = next((card for card in table.cards if card.mode == "verbs"), None)
    if other is not None:
        raise ConfigError(
            f"auth={settings.auth} needs device=soft at every rank; rank {other.rank} uses verbs"
        )
    try:
        config.auth_key = bytes.fromhex(table.auth_key)
    except (ValueError, RuntimeError) as error:
        raise ConfigError(f"auth={settings.auth}: {error}") from None


def _endpoint_config(rank: int, settings: Settings, table: Table, opened: Opened) -> _core.EndpointConfig:
    config = _core.EndpointConfig()
    config.rank, config.world = rank, len(table.cards)
    config.epoch, config.qkey = table.epoch, table.qkey
    config.local_ipv4, config.local_qpn = addresses.to_int(opened.ipv4), opened.qpn
    config.path_mtu = table.mtu
    if opened.mode == "udp":
        # What the kernel writes for a UDP socket. Packets of raw senders have ids that it does not show.
        config.udp_source_port = config.roce_port
        config.zero_ip_id = True
        config.verify_icrc = all(card.mode == "udp" for card in table.cards)
    elif opened.mode == "verbs":
        # The device makes it and checks it.
        config.make_icrc = config.verify_icrc = False
    _authenticate(config, settings, table)
    config.window, config.paths = settings.window, settings.paths
    config.shared_window = settings.shared_window
    config.ecn = settings.ecn
    config.path_policy = _core.PathPolicy[settings.path_policy]
    config.spray, config.ordered = settings.spray, settings.ordered
    if settings.rate_bps:
        config.pace_bps = config.rate_bps = settings.rate_bps
    config.queue_max = round(settings.queue_max * 1e9)
    config.detect_loss, config.detect_gap = settings.detect_loss, settings.detect_gap
    config.detect_interval, config.detect_probe = settings.detect_interval, settings.detect_probe
    config.dead_after = round(settings.dead_after * 1e9)
    config.timer_tick = round(settings.timer_tick * 1e9)
    return config


@contextlib.contextmanager
def _closed_on_error() -> Iterator[contextlib.ExitStack]:
    """A stack of clean-ups that run only when the body raises."""
    with contextlib.ExitStack() as stack:
        yield stack
        stack.pop_all()


def _stop_at_exit(communicator: Communicator) -> None:
    reference = weakref.ref(communicator)

    def stop() -> None:
        alive = reference()
        if alive is not None:
            alive.stop_at_exit()

    atexit.register(stop)
