"""From the environment to a communicator: launcher, settings, device, rendezvous, endpoint, thread."""

import atexit
import contextlib
import dataclasses
import functools
import logging
import os
import weakref
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from csaud import _core, addresses, launch
from csaud import settings as settings_table
from csaud.communicator import Communicator
from csaud.devices import Opened, open_device
from csaud.errors import ConfigError
from csaud.launch import Launch
from csaud.path_reports import parse_address
from csaud.reform import meet_again, place_of
from csaud.rendezvous import Card, Meeting, Table, make_table
from csaud.rendezvous_guest import Guest, connect
from csaud.rendezvous_host import Host
from csaud.settings import Settings
from csaud.transport import Transport

log = logging.getLogger(__name__)

_SMALLEST_MTU = 256  # bytes


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
    settings = settings_table.load(overrides, variables)
    logging.getLogger("csaud").setLevel(settings.log.upper())
    if settings.controller:
        parse_address(settings.controller)
    place = launch.read(variables)
    if settings.store_port:
        place = dataclasses.replace(place, master_port=settings.store_port)
    with _closed_on_error() as cleanup:
        opened, meeting = _meet(place, settings, cleanup)
        _check_routes(meeting.table, opened)
        _start_together(opened, meeting, settings)
        _check_segmentation(meeting.table, opened, settings)
        return _communicator(place, settings, opened, meeting, cleanup)


def _communicator(
    place: Launch, settings: Settings, opened: Opened, meeting: Meeting, cleanup: contextlib.ExitStack
) -> Communicator:
    """Endpoint and thread for ranks that have met."""
    table = meeting.table
    config = _endpoint_config(place, settings, table, opened)
    progress = _core.Progress(config, opened.native, settings.batch, settings.spin)
    for card in table.cards:
        if card.rank != place.rank:
            _set_peer(progress, card)
    progress.start()
    cleanup.callback(progress.stop)
    communicator = Communicator(
        Transport(progress), meeting, place.rank, place.world, settings, opened.mode,
        functools.partial(_again, place, settings, opened, table),
    )  # fmt: skip
    if settings.controller:
        communicator.report_paths(opened.ipv4)
    _stop_at_exit(communicator)
    log.info("rank %d of %d at %s, QP %#x, %s, epoch %d", place.rank, place.world, opened.ipv4, opened.qpn,
             opened.mode, table.epoch)  # fmt: skip
    return communicator


def _set_peer(progress: _core.Progress, card: Card) -> None:
    try:
        progress.set_peer(card.rank, addresses.to_int(card.ipv4), card.qpn)
    except RuntimeError as error:  # the device has no way to it
        raise ConfigError(f"rank {card.rank}: {error}") from None


def _again(
    place: Launch, settings: Settings, opened: Opened, before: Table, failed: Collection[int], timeout: float
) -> Communicator:
    """The job goes on in its next epoch, over the same device, with the ranks that are left."""
    own = before.cards[place.rank]
    with _closed_on_error() as cleanup:
        meeting = meet_again(place.rank, before, failed, place.master_port, timeout)
        cleanup.callback(meeting.close)
        table = meeting.table
        place = dataclasses.replace(place, rank=place_of(own, table), world=len(table.cards))
        return _communicator(place, settings, opened, meeting, cleanup)


@dataclasses.dataclass
class _Alone:
    """The rendezvous of a job of one."""

    table: Table

    def arrive(self, point: str, timeout: float) -> None:
        """Everyone is here."""

    def close(self) -> None:
        """Nothing is open."""


def _meet(place: Launch, settings: Settings, cleanup: contextlib.ExitStack) -> tuple[Opened, Meeting]:
    """Open the device, whose address and QP number go onto this rank's card, and meet the others."""
    master = addresses.resolve(place.master_addr, "MASTER_ADDR")
    given = addresses.resolve(settings.address, "address") if settings.address else ""
    if place.world == 1:
        opened = open_device(settings, given or "127.0.0.1")
        return opened, _Alone(make_table([_card(place, settings, opened, opened.ipv4)], settings.epoch))
    if place.rank == 0:
        host = Host(master, place.master_port, place.world)
        cleanup.callback(host.close)
        if addresses.is_unspecified(master):  # no address to send to: the others know one that leads here
            master = host.reached_at(settings.store_timeout)
        opened = open_device(settings, given or master)
        host.gather(_card(place, settings, opened, master), settings.epoch, settings.store_timeout)
        return opened, host
    guest = Guest(connect(master, place.master_port, settings.store_timeout))
    cleanup.callback(guest.close)
    opened = open_device(settings, given or guest.local_address)
    guest.join(_card(place, settings, opened, master), place.world, settings.store_timeout)
    return opened, guest


def _start_together(opened: Opened, meeting: Meeting, settings: Settings) -> None:
    """A queue pair of an RDMA device receives from here on; nobody sends before all such can receive."""
    if opened.start is not None:
        try:
            opened.start(meeting.table.qkey)
        except OSError as error:
            raise ConfigError(f"cannot start the device: {error}") from None
    if any(card.mode == "verbs" for card in meeting.table.cards):
        meeting.arrive("ready", settings.store_timeout)


def _card(place: Launch, settings: Settings, opened: Opened, master: str) -> Card:
    link = addresses.link_mtu(opened.ipv4, master)
    if settings.mtu == 0:
        mtu = min(addresses.largest_path_mtu(link), opened.max_mtu)
    elif settings.mtu < _SMALLEST_MTU:
        raise ConfigError(f"mtu={settings.mtu}: expected 0 or {_SMALLEST_MTU} to 4096 (bytes)")
    else:
        mtu = settings.mtu
    return Card(place.rank, opened.ipv4, opened.qpn, mtu, opened.mode)


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


def _endpoint_config(place: Launch, settings: Settings, table: Table, opened: Opened) -> _core.EndpointConfig:
    config = _core.EndpointConfig()
    config.rank, config.world = place.rank, place.world
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
