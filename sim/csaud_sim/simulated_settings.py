"""Which settings of the host library mean something without sockets and processes."""

from collections.abc import Mapping
from typing import Any

from csaud.config.reading import load
from csaud.errors import ConfigError
from csaud_controller.base.yamlfile import FieldError

SIMULATED_SETTINGS = frozenset(
    {
        *("window", "shared_window", "paths", "spray", "path_policy", "ordered", "rate_bps", "ecn", "parity"),
        *("queue_max", "dead_after", "timer_tick", "mtu", "all_reduce"),
    }
)


def check_host(settings: Mapping[str, Any]) -> None:
    """FieldError, of the key `host`, for a setting that is not known, or not here, or a wrong value."""
    for name in settings:
        if name not in SIMULATED_SETTINGS:
            known = ", ".join(sorted(SIMULATED_SETTINGS))
            raise FieldError(("host", name), f"the simulator has no such setting; expected one of {known}")
    try:
        load(settings, {})
    except ConfigError as error:
        raise FieldError(("host",), str(error)) from None
