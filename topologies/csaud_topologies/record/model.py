"""report.json: every key with its meaning; docs/report.md says the same for readers."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

SCHEMA = 2
"""Goes up when a key changes its meaning or goes away."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Run(_Part):
    """What was run. Spraying, loss signal, marks and injected loss are those in force when the job began;
    `changes` has what became of them."""

    scenario: str
    about: str
    target: str
    fabric: str
    seed: int
    ipv6: bool = Field(default=False, description="packets were sent over IPv6")
    spray: str
    loss_signal: str
    loss_icrc: bool = Field(description="a LOSS has an iCRC of its own (the second form)")
    ecn: bool = Field(description="switches mark packets of senders that listen")
    injected_probability: float = Field(description="largest loss probability among the fault rules in force")
    workload: dict[str, Any]
    host: dict[str, Any] = Field(
        default_factory=dict, description="settings of the host library that the scenario asks for"
    )
    background: list[dict[str, Any]] | None = Field(
        default=None, description="as the scenario asks for it; null: not told"
    )
    events: list[dict[str, Any]] | None = Field(default=None, description="the same")
    ranks: list[str] = Field(description="host of each rank")
    link_rate_bps: int
    command: str
    started: str = Field(description="ISO 8601, UTC")
    duration_s: float
    job_s: float = Field(description="from the first worker's start to the last one's end")
    versions: dict[str, str]
    calibrated_pps: int | None = Field(default=None, description="bmv2: packets/s that one switch forwards")


class CheckResult(_Part):
    """One verdict; the run passed when all did."""

    name: str
    value: Any
    expected: str
    passed: bool
    about: str


class Training(_Part):
    """How the training went; only for workloads that train."""

    parameters: int
    steps: int
    final_accuracy: float
    accuracy: list[float | None] = Field(description="on the test part, after each step")
    loss: list[float | None] = Field(description="mean over the ranks' batches, each step")


class Equality(_Part):
    """The bits of the results."""

    bit_equal: bool
    reference: str = Field(description="SHA-256 over the reference's weights and all sums of gradients")
    ranks: list[str] = Field(description="the same of each rank")
    weights_sha256: str | None = Field(
        description="of the reference's final weights, for workloads that train"
    )


class Distribution(_Part):
    """A set of times."""

    count: int
    mean_s: float
    p50_s: float
    p99_s: float
    max_s: float
    sample_s: list[float] = Field(description="the values, sorted; evenly thinned to 2000 at most")


class AllReduces(Distribution):
    """All-reduces, each as long as its slowest rank took."""

    bytes: int = Field(description="size of the largest array")


class Recovery(_Part):
    """Losses as the hosts saw them, summed over ranks (those that left counters), in DATA packets."""

    sent: int
    received: int
    lost: int | None = Field(description="copies sent and not received; null where a rank left no counters")
    retransmitted: int
    found_by: dict[str, int] = Field(
        description="retransmitted copies by the detector that caused them; `parity`: given back without one"
    )
    spurious: int | None = Field(
        description="copies retransmitted or given back beyond the lost: nothing was missing; null as `lost`"
    )
    duplicates: int = Field(description="copies received more than once")
    told: dict[str, int] = Field(
        description="losses that switches told `receivers` and `senders` of; one of both ends is in both"
    )
    control: int = Field(description="control packets sent")
    parity: dict[str, int] = Field(
        description="PARITY packets `sent`, and `lost` of them, where that is known"
    )


class SwitchesPart(_Part):
    """What all switches counted on all ports; DATA where nothing else is said."""

    injected: int
    trimmed: int
    bounced: int
    both: int = Field(description="trimmed and bounced: in both of those, too")
    congestion_dropped: int
    trim_sent: int = Field(description="LOSS to receivers that a queue took")
    trim_dropped: int = Field(description="the same without room")
    bounce_sent: int = Field(description="LOSS to senders that a queue took")
    bounce_dropped: int = Field(description="the same without room")
    ecn_marked: int = Field(description="DATA marked; a copy can be lost after its mark")
    ecn_seen: int = Field(description="DATA that hosts received with a mark")
    overflow: int = Field(description="packets of any kind that found a queue at or above alarm_at")


class Uplink(_Part):
    """One port between switches: what left it, in packets, by kind."""

    switch: str
    port: int
    peer: str
    data: int
    control: int
    loss: int
    other: int
    injected: int
    trimmed: int
    bounced: int
    congestion_dropped: int
    by_path: list[int] = Field(
        description="DATA by the low four bits of the sender's path_id; [] where not read"
    )
    marked_by_path: list[int] = Field(description="of these, those that left with an ECN mark made here")


class BookLine(_Part):
    """One equation: left = sum of terms."""

    name: str
    left: int
    terms: dict[str, int]
    right: int
    unexplained: int
    about: str


class LinkLine(_Part):
    """One direction of one link, one kind."""

    source: str
    target: str
    kind: str
    left: int
    arrived: int
    missing: int
    was_down: bool


class BooksPart(_Part):
    """The books; see docs/report.md for the equations."""

    balanced: bool = Field(description="every line and link held, and none was left out")
    without: list[int] = Field(
        default_factory=list,
        description="ranks that left no counters of all they sent and got: lines that need them are left out",
    )
    empty: bool = Field(default=False, description="no switch saw a CSA packet: there is nothing to balance")
    job: list[BookLine]
    switches: list[BookLine]
    links: list[LinkLine]


class LinkSeries(_Part):
    """One port between switches over time; each value is of the sample at the same place in `at_s`."""

    switch: str
    port: int
    peer: str
    goodput_bps: list[float] = Field(
        description="payload of DATA copies that left the port since the sample before, bits/s"
    )
    queue_packets: list[int] | None = Field(
        description="packets that waited for the port at that moment; null where the target does not tell"
    )


class Timeline(_Part):
    """Samples taken while the job ran."""

    at_s: list[float] = Field(description="seconds after the job's start")
    links: list[LinkSeries]


class InForce(_Part):
    """What every switch had been asked for, and held, when the job began."""

    policy: dict[str, Any]
    faults: list[dict[str, Any]]
    unlike_scenario: list[str] = Field(description="what had been changed by hand: `key: scenario's -> ran`")
    links_down: list[str] = Field(description="that had been taken down by hand")


class ChangeRecord(_Part):
    """Policy or faults changed while the job ran."""

    at_s: float = Field(description="when it was asked for, after the job's start")
    in_force_s: float | None = Field(description="when every switch held it; null: never, as far as known")
    step: int = Field(description="steps that all ranks had finished")
    what: list[str] = Field(description="`key: before -> after`")
    policy: dict[str, Any] = Field(description="from then on")
    faults: list[dict[str, Any]]


class EventRecord(_Part):
    """Something that the scenario did to the fabric, or a controller that was started again."""

    at_s: float = Field(description="after the job's start")
    step: int = Field(description="steps that all ranks had finished, as far as they are counted")
    what: str


class RankEnd(_Part):
    """How one process of a user's own program ended."""

    rank: int
    host: str
    status: int = Field(description="exit status; 128 + n: by signal n")
    ended: str = Field(description="the same in words")
    counters: str = Field(
        description="how its communicators ended, as they wrote beside their counters; empty: none left"
    )


class Program(_Part):
    """A user's own program."""

    command: list[str]
    deaths: int = Field(default=0, description="how many ranks might fail while the others went on")
    epochs: int = Field(default=1, description="how many epochs ranks left counters of; 0: none left any")
    ranks: list[RankEnd]

    @property
    def cut_off(self) -> bool:
        """Whether a communicator ended with messages under way."""
        return any("failed" in rank.counters for rank in self.ranks)


class Bulk(_Part):
    """What left for one host while TCP connections beside the job lasted; bytes of frames."""

    seconds: float
    received: int = Field(description="bytes that TCP delivered")
    csa: int = Field(description="bytes of the job's frames")
    other: int = Field(description="bytes of others: TCP's, and link probes")
    link_rate_bps: int = Field(description="0: without limit")

    @property
    def csa_share(self) -> float:
        """Of all that left, what was the job's."""
        return self.csa / (self.csa + self.other) if self.csa + self.other else 0.0

    @property
    def bps(self) -> float:
        """That TCP delivered."""
        return 8 * self.received / self.seconds if self.seconds else 0.0


class Background(_Part):
    """Traffic beside the job."""

    to: str
    sources: list[str]
    packets_sent: int | None = Field(description="of an incast; null for `bulk`")
    kind: str = "incast"
    bulk: Bulk | None = Field(default=None, description="what became of TCP connections; null for an incast")


class RankTime(_Part):
    """Where a rank's time went, from its first collective's call to its last one's end; seconds."""

    rank: int
    collectives: int = Field(description="and transfers; the latest, as many as the flight recorder keeps")
    computing_s: float = Field(description="nothing under way")
    beside_s: float = Field(description="a collective under way that the program did not wait for")
    communicating_s: float = Field(description="waited for a collective that all ranks had called")
    waiting_s: float = Field(description="waited for a rank that called it later")

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.computing_s + self.beside_s + self.communicating_s + self.waiting_s


class Report(_Part):
    """The whole report."""

    schema_version: int = SCHEMA
    passed: bool
    run: Run
    checks: list[CheckResult]
    equality: Equality | None
    training: Training | None
    all_reduce: AllReduces | None
    flows: Distribution | None = Field(description="messages received: from the first packet to the last")
    time_split: list[RankTime] | None = Field(
        default=None, description="where each rank's time went; null where no collective was seen"
    )
    recovery: Recovery
    switches: SwitchesPart
    uplinks: list[Uplink]
    timeline: Timeline | None = Field(default=None, description="null for jobs shorter than two samples")
    books: BooksPart
    in_force: InForce
    changes: list[ChangeRecord]
    events: list[EventRecord]
    background: list[Background]
    hosts: list[dict[str, Any]] = Field(
        description="counters of each rank, as csaud.Communicator.stats names them"
    )
    program: Program | None = Field(
        default=None, description="what `csaud net job` ran; null for built-in workloads"
    )
    fabric: dict[str, Any] = Field(description="the inventory, as in fabric.json")
