"""Rows of the benchmark of the backend of torch.distributed."""

from __future__ import annotations

from bench.torch_backend import rows_of


def test_ahead_of_gloo_is_less_time_a_call_and_more_goodput() -> None:
    ours = {"us": 10.0, "async_us": 30.0, "large_us": 67108.864, "hidden": 0.9}
    theirs = {"us": 20.0, "async_us": 20.0, "large_us": 2 * 67108.864, "hidden": 0.5}
    rows = {row.name: row for row in rows_of({"csaud": ours, "gloo": theirs})}
    assert rows["all_reduce of 4 B"].holds is True
    assert rows["all_reduce of 4 B, async_op and wait"].holds is False
    large = rows["all_reduce of 64 MB"]
    assert (large.value, large.ratio, large.holds) == (1000.0, 2.0, True)
