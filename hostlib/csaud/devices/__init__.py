"""Devices by name. A device carries packets; the protocol above it is the same on each."""

from collections.abc import Callable

from csaud.config.settings import Settings
from csaud.devices import soft, verbs
from csaud.devices.opened import Opened

Opener = Callable[[Settings, str], Opened]

_OPENERS: dict[str, Opener] = {"soft": soft.open_device, "verbs": verbs.open_device}


def open_device(settings: Settings, address: str) -> Opened:
    """Open the device that `settings.device` names at `address`: IPv4, or IPv6 (verbs device; soft device,
    modes raw and udp).

    Raises:
        ConfigError: it cannot be opened; the message says why and what to do.
    """
    return _OPENERS[settings.device](settings, address)


__all__ = ["Opened", "open_device"]
