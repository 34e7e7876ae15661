"""Settings of an endpoint that cannot be are refused by name."""

import pytest

from tests.hostlib.core_support import network

BEYOND_INT64_WITH_ANY_CLOCK = (1 << 63) - 1


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("paths", 0),
        ("window", 0),
        ("window", 8193),
        ("rtt_initial", 0),
        ("rtt_refresh", 0),
        ("rtt_refresh", BEYOND_INT64_WITH_ANY_CLOCK),
        ("peer_rest", 0),
        ("timer_tick", 0),
        ("queue_max", 0),
        ("fixed_interval", -1),
        ("stall_tolerance", -1),
        ("abort_spacing", -1),
        ("linger", -1),
        ("dead_after", 7),
        ("dead_after", BEYOND_INT64_WITH_ANY_CLOCK),
        ("linger", BEYOND_INT64_WITH_ANY_CLOCK),
        ("dead_probes", 0),
        ("path_mtu", 8193),
    ],
)
def test_a_setting_that_cannot_be_is_named(setting: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"^.*{setting}.*: "):
        network(2, **{setting: value})
