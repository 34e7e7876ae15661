"""The endpoint of a rank that has met the others: what the native core is told."""

import ipaddress

from csaud import _core
from csaud.config.settings import Settings
from csaud.devices import Opened
from csaud.errors import ConfigError
from csaud.network import addresses
from csaud.rendezvous.table import Card, Table
from csaud.start.sharing import all_share_memory

_FIRST_NAME = 0xF0000000  # 240.0.0.0/4 is nobody's
_WINDOW_BYTES = 128 << 10  # a path holds bytes: shorter packets are more of them


def endpoint_config(rank: int, settings: Settings, table: Table, opened: Opened) -> _core.EndpointConfig:
    """Who the rank is, how packets look on its device, and the settings in the core's units.

    Raises:
        ConfigError: the device cannot have what a setting asks for.
    """
    config = _core.EndpointConfig()
    config.rank, config.world = rank, len(table.cards)
    config.epoch, config.qkey = table.epoch, table.qkey
    config.local_ipv4, config.local_qpn = core_addresses(table)[rank], opened.qpn
    config.path_mtu = table.mtu
    if opened.mode == "udp":
        # What the kernel writes for a UDP socket. Packets of raw senders have ids that it does not show.
        config.udp_source_port = config.roce_port
        config.zero_ip_id = True
        config.verify_icrc = all(card.mode == "udp" for card in table.cards)
    if opened.mode == "verbs" or addresses.is_ipv6(opened.address) or all_share_memory(table):
        # The device makes it and checks it, or no packet leaves the host.
        config.make_icrc = config.verify_icrc = False
    authenticate(config, settings, table)
    apply_settings(config, settings)
    return config


def apply_settings(config: _core.EndpointConfig, settings: Settings) -> None:
    """The settings that are the core's own, in its units, whatever carries its packets; `config` has its path
    MTU already."""
    config.window, config.paths = window(settings, config.path_mtu), settings.paths
    config.shared_window = settings.shared_window
    config.ecn = settings.ecn
    config.parity = settings.parity
    config.path_policy = _core.PathPolicy[settings.path_policy]
    config.spray, config.ordered = settings.spray, settings.ordered
    if settings.rate_bps:
        config.pace_bps = config.rate_bps = settings.rate_bps
    config.queue_max = round(settings.queue_max * 1e9)
    config.dead_after = round(settings.dead_after * 1e9)
    config.timer_tick = round(settings.timer_tick * 1e9)


def window(settings: Settings, path_mtu: int) -> int:
    """Packets that a receiver lets one sender have in flight."""
    return settings.window or -(-_WINDOW_BYTES // path_mtu)


def authenticate(config: _core.EndpointConfig, settings: Settings, table: Table) -> None:
    """Give the core the job's key, where setting auth asks for it."""
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


def check_segmentation(table: Table, opened: Opened, settings: Settings) -> None:
    """Raw sockets and RDMA devices would get trains as they are: those need udp mode everywhere."""
    other = next((card for card in table.cards if card.mode != "udp"), None)
    if other is None:
        return
    if settings.segmentation == "on":
        raise ConfigError(
            f"segmentation=on needs mode=udp at every rank; rank {other.rank} uses {other.mode}"
        )
    if opened.set_segmentation is not None:
        opened.set_segmentation(False)


def core_addresses(table: Table) -> list[int]:
    """By which 32-bit numbers the core knows the ranks' addresses, in rank order: IPv4 ones as they are, IPv6
    ones by names from 240.0.0.0 on, which the device alone understands."""
    if not addresses.is_ipv6(table.cards[0].address):
        return [addresses.to_int(card.address) for card in table.cards]
    names: dict[str, int] = {}
    return [names.setdefault(card.address, _FIRST_NAME + card.rank) for card in table.cards]


def name_addresses(opened: Opened, table: Table) -> None:
    """Tell a device over IPv6 by which numbers the core knows the ranks' addresses."""
    if opened.set_names is not None:
        packed = (ipaddress.IPv6Address(card.address).packed for card in table.cards)
        opened.set_names(list(zip(core_addresses(table), packed, strict=True)))


def set_peer(progress: _core.Progress, card: Card, address: int) -> None:
    """Where a rank is reached: `address` as the core knows it."""
    try:
        progress.set_peer(card.rank, address, card.qpn)
    except RuntimeError as error:  # the device has no way to it
        raise ConfigError(f"rank {card.rank}: {error}") from None
