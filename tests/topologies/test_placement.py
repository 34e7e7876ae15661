"""Ranks on hosts."""

from __future__ import annotations

import pytest
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import leaf_spine
from csaud_topologies.cli import app
from csaud_topologies.job.background import sources_of
from csaud_topologies.scenario.model import Incast, Workers
from csaud_topologies.scenario.placement import place
from typer.testing import CliRunner


def test_spread_puts_ring_neighbours_on_different_leaves():
    fabric = leaf_spine(4, 4, 2)
    hosts = place(fabric, Workers())
    assert sorted(hosts) == sorted(fabric.hosts)
    leaves = [fabric.attachment(host).node for host in hosts]
    assert all(a != b for a, b in zip(leaves, [*leaves[1:], leaves[0]], strict=True))


def test_block_keeps_the_hosts_order_and_count_cuts_it():
    fabric = leaf_spine(2, 2, 2)
    assert place(fabric, Workers(placement="block")) == ["h1", "h2", "h3", "h4"]
    assert place(fabric, Workers(placement="block", count=3)) == ["h1", "h2", "h3"]


@pytest.mark.parametrize(
    ("workers", "words"),
    [
        (Workers(count=9), "4 hosts"),
        (Workers(placement=["h1", "h9"]), "unknown host 'h9'"),
        (Workers(placement=["h1", "h1"]), "twice"),
        (Workers(placement=["h1", "h2"], count=3), "names 2 hosts"),
    ],
)
def test_impossible_placements_are_refused(workers, words):
    with pytest.raises(FieldError, match=words):
        place(leaf_spine(2, 2, 2), workers)


def test_incast_comes_from_other_leaves_first():
    fabric = leaf_spine(4, 4, 2)
    assert sources_of(Incast(to="h1", sources=3), fabric) == ["h8", "h7", "h6"]
    assert "h2" not in sources_of(Incast(to="h1", sources=6), fabric)
    with pytest.raises(FieldError, match="7 other hosts"):
        sources_of(Incast(to="h1", sources=8), fabric)


@pytest.mark.parametrize("ranks", ["-2", "0"])
def test_a_job_has_at_least_one_rank(ranks):
    done = CliRunner().invoke(app, ["job", "--ranks", ranks, "--", "true"])
    assert done.exit_code == 2
    assert "'--ranks'" in done.output and "equal to 1" in " ".join(done.output.split())
