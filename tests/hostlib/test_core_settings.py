"""Settings of an endpoint that cannot be are refused by name."""

import pytest

from tests.hostlib.core_support import network

BEYOND_INT64_WITH_ANY_CLOCK = (1 << 63) - 1
YEAR = 365 * 24 * 3600 * 1_000_000_000


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
        ("path_mtu", 32),
        ("parity_rows", 9),
        ("spray", 9),
        ("shared_window", 0),
        ("early_pool_packets", 0),
        ("rate_bps", 0),
        ("tx_ts_unit_ns", 0),
        ("abort_repeats", 0),
        ("tos", 1),
        ("qkey", 1 << 31),
        ("loss_port", 4791),  # that of RoCE
    ],
)
def test_a_setting_that_cannot_be_is_named(setting: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"^.*{setting}.*: "):
        network(2, **{setting: value})


@pytest.mark.parametrize(
    ("setting", "values"),
    [
        ("window", (1, 8192)),
        ("path_mtu", (33, 8192)),
        ("parity_rows", (0, 8)),
        ("spray", (0, 8)),
        ("dead_after", (8, YEAR)),
        ("linger", (0, YEAR)),
        ("rtt_refresh", (1, YEAR // (24 * 365))),
        ("qkey", (0, (1 << 31) - 1)),
        ("tos", (0, 252)),
    ],
)
def test_the_least_and_the_most_that_can_be_are_taken(setting: str, values: tuple[int, int]) -> None:
    for value in values:
        network(2, **{setting: value})
