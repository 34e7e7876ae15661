"""What a scenario's events do to the links of a fabric, emulated or simulated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from csaud_controller.inventory import End, Fabric
from csaud_controller.policy.faults import FaultRule

from csaud_topologies.scenario.events import LinkEvent


class Failing(Protocol):
    """A fabric whose links can fail."""

    @property
    def inventory(self) -> Fabric:
        """What is wired to what."""

    def set_link(self, a: str, b: str, up: bool) -> None:
        """Take all links between two nodes down, or up."""

    def slow(self, at: End, rate: int | None) -> None:
        """Let a port send at this rate until further notice, bit/s; None: at its own again."""

    def lose(self, rules: Sequence[FaultRule]) -> None:
        """Lose packets by these rules, after those of the fabric, in place of those that were said before."""


class LinkEvents:
    """Lets events happen to a fabric.

    Args:
        seed: of losses.
    """

    def __init__(self, fabric: Failing, seed: int = 1) -> None:
        self._fabric, self._seed = fabric, seed
        self._losses: dict[frozenset[str], list[FaultRule]] = {}
        self._slowed: set[frozenset[str]] = set()
        self.failed: set[frozenset[str]] = set()
        """Links that were down at some time so far."""

    def happen(self, event: LinkEvent) -> None:
        """To all links between the two switches, now."""
        link = frozenset(event.nodes)
        match event.do:
            case "slow":
                self._slowed.add(link)
                self._slow(link, event.rate)
            case "lose":
                self._losses[link] = [
                    FaultRule(where=f"{end.node}:{end.port}", probability=event.loss or 0, seed=self._seed)
                    for end in self._ends(link)
                ]
                self._lose()
            case _:
                if event.do == "down":
                    self.failed.add(link)
                self._fabric.set_link(*event.nodes, event.do == "up")
                if event.do == "up":
                    self._make_whole(link)

    def make_whole(self) -> None:
        """Links that are slow or lose packets are as they were; those that are down stay so."""
        for link in [*self._slowed, *self._losses]:
            self._make_whole(link)

    def _make_whole(self, link: frozenset[str]) -> None:
        if link in self._slowed:
            self._slowed.discard(link)
            self._slow(link, None)
        if self._losses.pop(link, None) is not None:
            self._lose()

    def _slow(self, link: frozenset[str], rate: int | None) -> None:
        for end in self._ends(link):
            self._fabric.slow(end, rate)

    def _lose(self) -> None:
        self._fabric.lose([rule for rules in self._losses.values() for rule in rules])

    def _ends(self, link: frozenset[str]) -> list[End]:
        a, b = link
        return [end for edge in self._fabric.inventory.edges_between(a, b) for end in edge.ends]
