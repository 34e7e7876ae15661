"""Settings of the host library that follow from fabric and policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import Fabric, LinkDefaults
from csaud_controller.policy.congestion import thresholds
from csaud_controller.policy.model import Policy
from csaud_controller.policy.spray import MODES

_FEWEST_PATHS, _MOST_PATHS = 16, 256  # the setting's default; a sender keeps a few bytes of each by peer
_HOPS = 3  # queues between hosts of different leaves
_QUEUE_MAX_S = (0.001, 10.0)  # the setting's range


def check_settings(own: Mapping[str, Any]) -> None:
    """FieldError, of the key `host`, for a setting that the host library does not know, or a wrong value."""
    if not own:
        return
    from csaud.config.reading import load  # with the library, for which few scenarios need to wait
    from csaud.errors import ConfigError

    for name, value in own.items():
        try:
            load({name: value}, {})
        except ConfigError as error:
            raise FieldError(("host", name), str(error)) from None


def host_settings(policy: Policy, own: Mapping[str, Any], fabric: Fabric, host: str) -> dict[str, Any]:
    """Those of one host, by name; what was asked for, `own`, goes before."""
    link = fabric.link_of(fabric.edge_at[fabric.attachment(host)])
    return {
        "rate_bps": link.rate,
        "queue_max": _queue_max_s(policy, fabric, link),
        "ordered": MODES[policy.spray].keeps_order,
        "paths": _paths(fabric),
        **own,
    }


def _paths(fabric: Fabric) -> int:
    """As many as there are ways between hosts far from each other: where path ids name all of them, a sender
    takes each as often as another."""
    return min(max(_FEWEST_PATHS, *fabric.choices_below.values()), _MOST_PATHS)


def _queue_max_s(policy: Policy, fabric: Fabric, link: LinkDefaults) -> float:
    """Longest time that DATA may wait in queues on its way, as they cut it at `trim_at`."""
    if not link.rate:
        return _QUEUE_MAX_S[0]
    trim_at = thresholds(policy.limits, link).trim_at
    seconds = _HOPS * trim_at * (fabric.mtu + 14) * 8 / link.rate
    return min(max(seconds, _QUEUE_MAX_S[0]), _QUEUE_MAX_S[1])
