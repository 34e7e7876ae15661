"""Rows of the benchmark of the backend of torch.distributed."""

from __future__ import annotations

from bench.torch_backend import medians, rows_of


def test_ahead_of_gloo_is_less_time_a_call_and_more_goodput() -> None:
    ours = {"us": 10.0, "mean_us": 15.0, "async_us": 30.0, "large_us": 67108.864, "hidden": 0.9}
    theirs = {"us": 20.0, "mean_us": 14.0, "async_us": 20.0, "large_us": 2 * 67108.864, "hidden": 0.5}
    rows = {row.name: row for row in rows_of({"csaud": ours, "gloo": theirs}, 64 << 20)}
    assert rows["all_reduce of 4 B"].holds is True
    assert rows["all_reduce of 4 B, mean"].holds is False
    assert rows["all_reduce of 4 B, async_op and wait"].holds is False
    large = rows["all_reduce of 64 MB"]
    assert (large.value, large.ratio, large.holds) == (1000.0, 2.0, True)


def test_what_was_measured_in_a_fabric_says_so_and_nothing_of_overlap() -> None:
    found = medians('a warning\n{"cpu": {"csaud": {"us": [3, 1, 2]}, "gloo": {"us": [4]}}}\n')["cpu"]
    for of in found.values():
        of |= {"mean_us": 5.0, "async_us": 5.0, "large_us": 1e6}
    rows = rows_of(found, 1 << 20, "fabric, 1.0% lost: ")
    assert [row.name for row in rows] == [
        "fabric, 1.0% lost: all_reduce of 4 B",
        "fabric, 1.0% lost: all_reduce of 4 B, mean",
        "fabric, 1.0% lost: all_reduce of 4 B, async_op and wait",
        "fabric, 1.0% lost: all_reduce of 1 MB",
    ]
    assert (rows[0].value, rows[0].peer_value) == (2, 4)
