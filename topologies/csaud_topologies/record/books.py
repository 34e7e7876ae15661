"""The books of a run: what the switches counted against what the hosts counted, by cause, to the packet.

All counts are of the job's CSA packets once the network is quiet. Pure: numbers in, lines and verdicts out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from csaud_controller.program import packets

KINDS = tuple(sorted(packets.KINDS, key=lambda kind: packets.KINDS[kind]))
"""Names of the P4 program's packet kinds, by number."""
OTHER, DATA, CONTROL, LOSS = (packets.KINDS[kind] for kind in ("other", "data", "control", "loss"))
CSA = tuple(packets.KINDS[kind] for kind in packets.CSA)


class End(NamedTuple):
    """One end of a link."""

    node: str
    port: int


class Link(NamedTuple):
    """One cable, both directions; a host's end has port 0."""

    a: End
    b: End

    def __str__(self) -> str:
        return f"{self.a.node}-{self.b.node}"


@dataclass
class SwitchCounts:
    """Packets that one switch counted; keys are (port, kind), or the kind alone where a port is not known
    yet.
    """

    ingress: dict[tuple[int, int], int] = field(default_factory=dict)
    egress: dict[tuple[int, int], int] = field(default_factory=dict)
    injected: dict[tuple[int, int], int] = field(default_factory=dict)
    trimmed: dict[tuple[int, int], int] = field(default_factory=dict)
    bounced: dict[tuple[int, int], int] = field(default_factory=dict)
    both: dict[tuple[int, int], int] = field(default_factory=dict)
    """Trimmed and bounced: in both of those, too."""
    congestion_dropped: dict[tuple[int, int], int] = field(default_factory=dict)
    refused: dict[tuple[int, int], int] = field(default_factory=dict)
    """What hosts may not send, by the port it came in by."""
    trim_sent: dict[int, int] = field(default_factory=dict)
    """LOSS to receivers, by the port whose queue took it."""
    trim_dropped: dict[int, int] = field(default_factory=dict)
    """The same, by the port whose queue had no room."""
    bounce_sent: dict[int, int] = field(default_factory=dict)
    bounce_dropped: dict[int, int] = field(default_factory=dict)
    no_path: dict[int, int] = field(default_factory=dict)
    discarded: dict[int, int] = field(default_factory=dict)
    """No route, or no hops left: in a loop while routes change."""

    def total(self, counter: str, kind: int) -> int:
        """Packets of one kind, over all ports."""
        counts: Mapping[tuple[int, int], int] = getattr(self, counter)
        return sum(packets for (_, of_kind), packets in counts.items() if of_kind == kind)

    @property
    def cut(self) -> int:
        """DATA of which only a LOSS is left, or two."""
        return self.total("trimmed", DATA) + self.total("bounced", DATA) - self.total("both", DATA)

    @property
    def made(self) -> dict[str, int]:
        """LOSS made of them, by direction; of those some found no room."""
        return {
            "trimmed": self.total("trimmed", DATA),
            "bounced": self.total("bounced", DATA),
            "without room": -sum((*self.trim_dropped.values(), *self.bounce_dropped.values())),
        }


@dataclass(frozen=True)
class HostCounts:
    """Packets that one host counted, as csaud.Communicator.stats names them; `inside`: none of its link's."""

    tx_data: int = 0
    rx_data: int = 0
    rx_duplicates: int = 0
    rtx_loss: int = 0
    rtx_gap: int = 0
    rtx_interval: int = 0
    rtx_probe: int = 0
    tx_parity: int = 0
    rx_parity: int = 0
    rx_by_parity: int = 0
    rx_loss_trimmed: int = 0
    rx_loss_bounced: int = 0
    rx_loss_repeats: int = 0
    tx_control: int = 0
    rx_control: int = 0
    tx_inside_data: int = 0
    rx_inside_data: int = 0
    tx_inside_control: int = 0
    rx_inside_control: int = 0
    rx_queue_drops: int = 0
    rx_stale_epoch: int = 0
    rx_stale_data: int = 0
    rx_stale_loss: int = 0

    @property
    def retransmitted(self) -> int:
        """Copies sent again, whatever found the loss."""
        return self.rtx_loss + self.rtx_gap + self.rtx_interval + self.rtx_probe

    @property
    def rx_loss_notices(self) -> int:
        """Losses learned from switches; one that went to both ends is learned at each."""
        return self.rx_loss_trimmed + self.rx_loss_bounced

    def sent(self, kind: int) -> int:
        """Packets of one kind that it put on its link."""
        return {
            DATA: self.tx_data + self.tx_parity - self.tx_inside_data,
            CONTROL: self.tx_control - self.tx_inside_control,
            LOSS: 0,
        }[kind]

    def received(self, kind: int) -> int:
        """Packets of one kind that it took from its link."""
        stale_control = self.rx_stale_epoch - self.rx_stale_data - self.rx_stale_loss
        return {
            DATA: self.rx_data + self.rx_parity + self.rx_stale_data - self.rx_inside_data,
            CONTROL: self.rx_control + stale_control - self.rx_inside_control,
            LOSS: self.rx_loss_notices + self.rx_loss_repeats + self.rx_stale_loss,
        }[kind]

    @classmethod
    def from_stats(cls, stats: Mapping[str, int]) -> HostCounts:
        """The counts among a host's stats; KeyError when one of them is missing."""
        return cls(**{name: int(stats[name]) for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class Line:
    """One equation of the books: `left` must equal `right`, which is the sum of `terms`."""

    name: str
    left: int
    terms: dict[str, int]
    about: str

    @property
    def right(self) -> int:
        """What the left side must be."""
        return sum(self.terms.values())

    @property
    def unexplained(self) -> int:
        """Packets by which the two sides differ."""
        return self.left - self.right

    @property
    def balanced(self) -> bool:
        """Whether the equation holds, to the packet."""
        return self.unexplained == 0


@dataclass(frozen=True)
class Crossing:
    """Packets of one kind over one direction of a link: those that left one end and came in at the other."""

    source: str
    target: str
    kind: int
    left: int
    arrived: int
    failed: bool
    """The link was down at some time of the run: it may have lost packets."""

    @property
    def missing(self) -> int:
        """Packets that left and did not arrive."""
        return self.left - self.arrived

    @property
    def balanced(self) -> bool:
        """A link that was always up loses nothing; none ever gains a packet."""
        return self.missing == 0 or (self.failed and self.missing > 0)


@dataclass(frozen=True)
class Books:
    """All that is balanced: the job's totals by cause, every switch, every link."""

    lines: list[Line]
    switches: list[Line]
    crossings: list[Crossing]

    @property
    def balanced(self) -> bool:
        """Whether every equation holds."""
        return all(line.balanced for line in (*self.lines, *self.switches)) and all(
            crossing.balanced for crossing in self.crossings
        )


def balance(
    links: Iterable[Link],
    switches: Mapping[str, SwitchCounts],
    hosts: Mapping[str, HostCounts],
    failed_links: Iterable[frozenset[str]] = (),
    unknown: Collection[str] = (),
    cut_off: bool = False,
) -> Books:
    """Balance the books of a quiet network.

    `hosts` holds every host's counts by node name (a host without a worker may be missing: it counts as
    zero). `failed_links` are the links, as sets of two node names, that were down at some time. Of the hosts
    in `unknown` nobody knows what they counted: lines and links that would need it are left out. `cut_off`:
    messages were given up, so that nobody had to find what they had lost.
    """
    failed = set(failed_links)
    crossings = [
        crossing
        for link in links
        if not {link.a.node, link.b.node} & set(unknown)
        for crossing in _crossings(link, switches, hosts, frozenset((link.a.node, link.b.node)) in failed)
    ]
    lines = [] if unknown else _job_lines(switches, hosts, crossings, cut_off)
    return Books(lines, _switch_lines(switches), crossings)


def silent_hosts(
    links: Iterable[Link], switches: Mapping[str, SwitchCounts], hosts: Iterable[str]
) -> set[str]:
    """Those of `hosts` that no CSA packet has left or reached, as far as the switches saw."""
    ends = [(a, b) for link in links for a, b in ((link.a, link.b), (link.b, link.a)) if b.node in switches]

    def carried(port: End) -> int:
        seen = switches[port.node]
        keys = [(port.port, kind) for kind in CSA]
        return sum(seen.ingress.get(key, 0) + seen.egress.get(key, 0) for key in keys)

    return set(hosts) - {host.node for host, port in ends if carried(port)}


def _crossings(
    link: Link, switches: Mapping[str, SwitchCounts], hosts: Mapping[str, HostCounts], failed: bool
) -> list[Crossing]:
    nobody = HostCounts()
    found = []
    for source, target in ((link.a, link.b), (link.b, link.a)):
        for kind in CSA:
            if source.node in switches:
                left = switches[source.node].egress.get((source.port, kind), 0)
            else:
                left = hosts.get(source.node, nobody).sent(kind)
            if target.node in switches:
                arrived = switches[target.node].ingress.get((target.port, kind), 0)
            else:
                arrived = hosts.get(target.node, nobody).received(kind)
            found.append(Crossing(source.node, target.node, kind, left, arrived, failed))
    return found


def _job_lines(
    switches: Mapping[str, SwitchCounts],
    hosts: Mapping[str, HostCounts],
    crossings: list[Crossing],
    cut_off: bool,
) -> list[Line]:
    def counted(counter: str, kind: int) -> int:
        return sum(switch.total(counter, kind) for switch in switches.values())

    def of_hosts(name: str) -> int:
        return sum(int(getattr(host, name)) for host in hosts.values())

    def gone(kind: int) -> dict[str, int]:
        """Losses of one kind by what caused them, without those that a trim turned into another kind."""
        return {
            "injected": counted("injected", kind),
            "link down": sum(c.missing for c in crossings if c.kind == kind and c.failed),
            "no path": sum(switch.no_path.get(kind, 0) for switch in switches.values()),
            "discarded": sum(switch.discarded.get(kind, 0) for switch in switches.values()),
            "congestion": counted("congestion_dropped", kind),
            "refused": counted("refused", kind),
        }

    cut = sum(switch.cut for switch in switches.values())
    made = {name: sum(switch.made[name] for switch in switches.values()) for name in SwitchCounts().made}

    def unreceived(kind: int) -> int:
        return sum(host.sent(kind) - host.received(kind) for host in hosts.values())

    notices = of_hosts("rx_loss_notices")
    needless = of_hosts("rx_duplicates") + of_hosts("rx_stale_data")
    parity_lost = of_hosts("tx_parity") - of_hosts("rx_parity")
    found = of_hosts("retransmitted") + of_hosts("rx_by_parity") - needless + parity_lost
    notices_gone = gone(LOSS) | {"of another epoch": of_hosts("rx_stale_loss")}
    lines = [
        Line(
            "lost DATA copies",
            unreceived(DATA),
            {**gone(DATA), "cut": cut},
            "DATA copies and PARITY that hosts sent and none received = what the fabric took, by cause",
        ),
        Line(
            "losses signalled",
            notices,
            {**made, **{f"LOSS {cause}": -packets for cause, packets in notices_gone.items()}},
            "LOSS notices that hosts received = LOSS that switches made, less those that were lost",
        ),
        Line(
            "lost control packets",
            unreceived(CONTROL),
            gone(CONTROL),
            "control packets that hosts sent and no host received = what the switches and links took",
        ),
    ]
    if not any(notices_gone.values()):
        lines += _directions(switches, of_hosts)
    if cut_off:
        return lines
    about = "copies retransmitted or given back by parity, less duplicates, and lost PARITY = what was taken"
    lines.insert(1, Line("losses found", found, {**gone(DATA), "cut": cut}, about))
    if not counted("both", DATA):
        unheard = {f"LOSS {cause}": packets for cause, packets in notices_gone.items()}
        lines.append(
            Line(
                "losses not signalled",
                found - notices,
                {**gone(DATA), **unheard, "LOSS without room": -made["without room"]},
                "losses that hosts had to find by themselves = losses without a notice, and lost notices",
            )
        )
    return lines


def _directions(switches: Mapping[str, SwitchCounts], of_hosts: Callable[[str], int]) -> list[Line]:
    """Whom the switches told. Only where no LOSS was lost on its way: there it has no direction any more."""
    lines = []
    for who, heard, made in (
        ("receivers", "rx_loss_trimmed", "trim"),
        ("senders", "rx_loss_bounced", "bounce"),
    ):
        sent = sum(sum(getattr(switch, f"{made}_sent").values()) for switch in switches.values())
        about = f"LOSS notices that {who} of the lost copies received = those that switches sent to them"
        lines.append(Line(f"losses told to {who}", of_hosts(heard), {f"{made} sent": sent}, about))
    return lines


def _switch_lines(switches: Mapping[str, SwitchCounts]) -> list[Line]:
    lines = []
    for name, counts in switches.items():
        for kind in CSA:
            terms = {
                "egress": counts.total("egress", kind),
                "injected": counts.total("injected", kind),
                "congestion": counts.total("congestion_dropped", kind),
                "no path": counts.no_path.get(kind, 0),
                "discarded": counts.discarded.get(kind, 0),
                "refused": counts.total("refused", kind),
            }
            if kind == DATA:
                terms["cut"] = counts.cut
            if kind == LOSS:
                terms |= {name: -packets for name, packets in counts.made.items()}
            about = f"{KINDS[kind].upper()} packets into {name} = packets out of it and what it took"
            lines.append(Line(f"{name} {KINDS[kind]}", counts.total("ingress", kind), terms, about))
        trims = {"sent": sum(counts.trim_sent.values()), "without room": sum(counts.trim_dropped.values())}
        about = f"DATA that {name} trimmed = LOSS that its queues took or had no room for"
        lines.append(Line(f"{name} trims", counts.total("trimmed", DATA), trims, about))
    return lines
