"""From the environment to a communicator: launcher, settings, device, rendezvous, endpoint, thread."""

import atexit
import contextlib
import dataclasses
import functools
import logging
import os
import secrets
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from csaud import _core
from csaud.config import launch, reading
from csaud.config import settings as settings_table
from csaud.config.launch import Launch
from csaud.config.settings import Settings
from csaud.devices import Opened, open_device
from csaud.errors import ConfigError
from csaud.groups.communicator import Communicator
from csaud.groups.path_reports import parse_address
from csaud.groups.transport import Transport
from csaud.membership.arbiter import Arbiter, open_arbiter
from csaud.membership.limits import seconds
from csaud.membership.newcomer import Newcomer, read_doors
from csaud.membership.service import Service
from csaud.network import addresses, job_secret
from csaud.rendezvous.table import Table
from csaud.start.admission import newcomers_obstacle, obstacle
from csaud.start.endpoint import check_segmentation, core_addresses, endpoint_config, name_addresses, set_peer
from csaud.start.seat import Seat, check_routes, make_card, meet, open_door, own_address, start_device
from csaud.start.sharing import hosts_of, link_trains, share_memory

log = logging.getLogger(__name__)

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
    settings = read_settings(overrides, variables)
    place = launch.read(variables)
    if settings.store_port:
        place = dataclasses.replace(place, master_port=settings.store_port)
    return start(place, settings, variables)


def start(
    place: Launch,
    settings: Settings,
    environ: Mapping[str, str] | None = None,
    announce: Callable[[int], object] | None = None,
) -> Communicator:
    """`init` for those who know their place from elsewhere than a launcher's variables.

    Args:
        environ: variables for the setting `arbiter`, instead of those of the process.
        announce: rank 0 calls it with the port at which it listens, before it waits for the others; for a
            place with port 0, of which the others have to be told.
    """
    with _closed_on_error() as cleanup:
        arbiter = open_arbiter(settings.arbiter, os.environ if environ is None else environ)
        seat = meet(place, settings, cleanup, announce)
        check_routes(seat.table, seat.opened)
        start_device(seat.opened, seat.table)
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
    timeout = seconds(timeout, "join")
    settings = read_settings(overrides, variables)
    with _closed_on_error() as cleanup:
        arbiter = open_arbiter(settings.arbiter, variables)
        newcomer = Newcomer(
            read_doors(doors, lambda host: addresses.resolve(host, "join")),
            timeout,
            job_secret.credentials(settings),
        )
        cleanup.callback(newcomer.close)
        local = newcomer.local_address
        listener = open_door(local, settings, cleanup)
        opened = open_device(settings, own_address(settings) or local)
        cleanup.callback(opened.close)
        uid = secrets.token_hex(8)
        card = make_card(0, settings, opened, local, uid, listener)
        table = newcomer.wait(
            card, settings_table.agreed(settings), functools.partial(newcomers_obstacle, settings, card)
        )
        newcomer.close()
        check_routes(table, opened)
        start_device(opened, table)
        service = _serve(Seat(opened, table, uid, listener), settings, arbiter, cleanup)
        _wait_for_newcomers(service, table)
        return _communicator(settings, opened, service, uid, cleanup)


def read_settings(overrides: Mapping[str, Any], variables: Mapping[str, str]) -> Settings:
    """The settings in force, of which some are put into effect at once; ConfigError where they contradict
    each other."""
    settings = reading.load(overrides, variables)
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
    check_segmentation(table, opened, settings)
    config = endpoint_config(rank, settings, table, opened)
    name_addresses(opened, table)
    local_ranks = share_memory(opened, table, rank, core_addresses(table), config.longest_window)
    link_trains(opened, table, rank, local_ranks)
    progress = _core.Progress(config, opened.native, settings.batch, settings.spin)
    for card, address in zip(table.cards, core_addresses(table), strict=True):
        if card.rank != rank:
            set_peer(progress, card, address)
    progress.start()
    cleanup.callback(progress.stop)
    communicator = Communicator(
        Transport(progress), service, rank, len(table.cards), settings, opened.mode,
        functools.partial(_again, settings, opened, service, uid), table.epoch, local_ranks, hosts_of(table),
    )  # fmt: skip
    if settings.controller:
        communicator.report_paths(opened.address)
    _stop_at_exit(communicator)
    log.info("rank %d of %d at %s, QP %#x, %s, memory shared with %d, epoch %d", rank, len(table.cards),
             opened.address, opened.qpn, opened.mode, len(local_ranks), table.epoch)  # fmt: skip
    return communicator


def _again(settings: Settings, opened: Opened, service: Service, uid: str) -> Communicator:
    """The job goes on in its next epoch, over the same device."""
    with _closed_on_error() as cleanup:
        cleanup.callback(service.close)
        check_routes(service.table, opened)
        _wait_for_newcomers(service, service.table)
        return _communicator(settings, opened, service, uid, cleanup)


def _wait_for_newcomers(service: Service, table: Table) -> None:
    """RDMA devices of newcomers drop what comes before they know the job's Q_Key."""
    if any(card.mode == "verbs" for card in table.cards[table.members :]):
        service.arrive("ready", _READY_TIMEOUT)


def _serve(seat: Seat, settings: Settings, arbiter: Arbiter, cleanup: contextlib.ExitStack) -> Service:
    service = Service(
        seat.listener, seat.table, seat.uid, arbiter, settings_table.agreed(settings),
        job_secret.credentials(settings), functools.partial(obstacle, settings, seat.opened.address),
    )  # fmt: skip
    cleanup.callback(service.close)
    return service


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
