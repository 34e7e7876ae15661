"""Jobs of which several ranks are killed at once, and packets that come from the epoch before."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.guest_wires import Station, TapNetwork
from tests.support.held_back import relay
from tests.support.netns import NetworkNamespace
from tests.support.ranks import Rank, on_host, run_job

pytestmark = pytest.mark.root

TASK = {"seed": 51, "length": 20_000, "turns": 3, "reform_s": 20.0}
EPOCH = 100
SETTINGS = {"epoch": EPOCH, "dead_after": 1.0, "rx_buffer": 4 << 20}
ONE = Station("one", "02:00:0a:07:00:01", "10.7.0.1")
OTHER = Station("other", "02:00:0a:07:00:02", "10.7.0.2")


def check(results: list[dict[str, Any]], doomed: set[int]) -> None:
    assert [(result["rank"], result["size"]) for result in results] == [
        (rank, len(results)) for rank in range(len(results))
    ]
    assert {result["lost"] for result in results} <= doomed
    assert len({result["turns"] for result in results}) == 1
    for result in results:
        bad = {name: count for name, count in result["stats"].items() if name.startswith("rx_bad_") and count}
        assert bad == {}


@pytest.mark.parametrize("secret", ["", "correct horse battery staple"])
@pytest.mark.parametrize(("mode", "doomed"), [("raw", {0, 1}), ("udp", {1, 3}), ("raw", {3, 4})], ids=str)
def test_two_ranks_of_five_die_at_once(mode: str, doomed: set[int], secret: str) -> None:
    """Whoever is left meets at the lowest rank that is, and goes on with the right sums; with a secret,
    under TLS again, and with packets that are authenticated."""
    settings = {**SETTINGS, "mode": mode, "secret": secret, "auth": "headers" if secret else "off"}
    with NetworkNamespace() as namespace, on_host(namespace) as place:
        ranks = [Rank(place, f"127.0.1.{1 + n}", settings) for n in range(5)]
        arguments = {**TASK, "doomed": sorted(doomed), "stale": 0}
        results = run_job(ranks, "127.0.1.1", "reform", arguments, doomed=doomed)
    assert len(results) == 3
    check(results, doomed)


@pytest.fixture
def networks() -> Iterator[tuple[TapNetwork, TapNetwork]]:
    one = TapNetwork(ONE, OTHER)
    try:
        other = TapNetwork(OTHER, ONE)
        try:
            yield one, other
        finally:
            other.close()
    finally:
        one.close()


def test_what_a_wire_held_back_comes_in_the_next_epoch(networks: tuple[TapNetwork, TapNetwork]) -> None:
    """Each fifth packet of the first epoch, also those to ranks that live on, comes in the middle of the
    second one; each rank that a packet reaches counts it, and the sums are right."""
    doomed = {1, 4}
    one, other = networks
    with (
        on_host(one.namespace) as here,
        on_host(other.namespace) as there,
        relay(one, other, EPOCH, every=5) as held,
    ):
        ranks = [
            Rank(*(there, OTHER.ipv4) if n % 2 else (here, ONE.ipv4), {**SETTINGS, "mode": "raw"})
            for n in range(6)
        ]
        arguments = {**TASK, "doomed": sorted(doomed), "stale": 10}
        results = run_job(ranks, ONE.ipv4, "reform", arguments, doomed=doomed)
    assert len(results) == 4
    check(results, doomed)
    stale = [result["stats"]["rx_stale_epoch"] for result in results]
    kept = sum(wire.count for wire in held)
    assert sum(stale) >= 10 and all(wire.released for wire in held), (stale, kept)
