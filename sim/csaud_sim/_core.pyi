"""Hosts on P4 switches under virtual time (C++20, built from sim/native). Times are ns since the begin."""

import numpy as np
import numpy.typing as npt
from csaud._core import Collective, EndpointConfig, Execution
from csaud_softswitch._core import Fabric

from csaud_sim.told import (
    Figures,
    FlowColumns,
    LinkColumns,
    MessageColumns,
    SwitchFigures,
    TraceColumns,
    TransportKind,
)

class _Work:
    """What hosts of any transport are given to do, and what came of it."""

    @property
    def hosts(self) -> int: ...
    def start(self, host: int, execution: Execution, at: int | None = None) -> None:
        """A host starts a collective at a time, or now."""

    def follow(self, host: int, execution: Execution, delay_ns: int) -> None:
        """A host starts a collective so long after all that it was given before are over."""

    def add_flows(
        self,
        src: npt.NDArray[np.uint16],
        dst: npt.NDArray[np.uint16],
        bytes: npt.NDArray[np.uint64],
        start_ns: npt.NDArray[np.int64],
        cls: int = 4,
        receive_delay_ns: int = 0,
    ) -> None:
        """Flows, a row each, in any order; hosts have to be connected.

        A flow is as many messages as its bytes need, all posted at its start; its receiver posts its receives
        `receive_delay_ns` later. Their communicator is 65535.

        Args:
            cls: criticality class, as of `csaud._core.Hints`.

        Raises:
            ValueError: a host that there is not, bytes of 0 or too many, or a start in the past; none of the
                flows is added.
        """

    def flows(self) -> FlowColumns: ...
    def run(self, until: int, *, each: bool = False) -> bool:
        """Run until all that was asked for (with `each`, something of it) is over or something fails: True;
        or until this time: False.

        What a host does that was killed counts as over.
        """

    def advance(self, until: int) -> None:
        """Run until a time, whatever is over."""

    def stats(self, host: int) -> dict[str, int]: ...
    def message_times(self, host: int) -> npt.NDArray[np.int64]:
        """Of the latest 100,000 messages of collectives that a host received, from the first packet to the
        last one, empty ones left out."""

    def messages(self) -> MessageColumns: ...
    @property
    def quiet(self) -> bool:
        """Nobody has anything unfinished or queued, and nothing is under way."""

    @property
    def now(self) -> int: ...
    @property
    def open(self) -> int:
        """Collectives of hosts, and flows, that are not over."""

    @property
    def failures(self) -> int:
        """Flows that failed, and hosts whose collectives did."""

    @property
    def hops(self) -> int:
        """Packets that switches received from links and hosts."""

    def trace(self) -> TraceColumns:
        """The first events; ValueError without a trace."""

    @property
    def trace_digest(self) -> int:
        """Of all events so far: equal only where runs did the same; ValueError without a trace."""

class Simulation(_Work):
    """Hosts, the fabric that they are attached to, and what they do.

    The fabric's switches are programmed as ever, before and between runs; while this object lives, their
    packets are carried here, and the fabric's time is that of the latest run's end.
    """

    def __init__(
        self,
        fabric: Fabric,
        *,
        overhead_bytes: int = 24,
        pipeline_ns: int = 0,
        payloads: bool = True,
        trace: int | None = None,
        engine: str | None = None,
        ledger: bool = False,
        oracle_ns: int | None = None,
    ) -> None:
        """
        Args:
            overhead_bytes: of a frame on a link beside those that the switch sees: preamble, FCS, gap.
            pipeline_ns: from a frame's last bit at a switch until it can be queued.
            payloads: carried. Otherwise frames are as long and hold nothing: iCRCs are neither made nor
                checked, and what is received is not what was sent.
            trace: of how many events to keep rows, 0 for the digest alone; None: no trace.
            engine: a library with another engine, as `csaud_sim.ns3` builds; None: the heap.
            ledger: copies, messages and links are followed: `figures`, `recoveries`, `messages`, `links`.
            oracle_ns: so long after a copy of DATA was lost, wherever, its sender gets a LOSS of it that no
                switch has made; None: it does not. Keeps a ledger.

        Raises:
            ValueError: the fabric runs in real time, has ports at interfaces, or is simulated already.
            RuntimeError: the engine cannot be loaded.
        """

    def impair(
        self,
        switch: str,
        port: int,
        *,
        loss: float = 0.0,
        burst: float = 1.0,
        kinds: int = 255,
        classes: int = 255,
        jitter_ns: int = 0,
        seed: int = 1,
    ) -> None:
        """Impair what leaves a port, besides what was asked for before; while nothing is on its link.

        Args:
            loss: share of the frames it is about that are lost on the link; no switch counts them but as
                receive errors.
            burst: how many of them are lost in a row, on average (Gilbert-Elliott).
            kinds: of frames that it is about: bit 0 those of other protocols, 1 DATA, 2 control, 3 LOSS.
            classes: bit n: CSA frames of criticality class n; others are of every class.
            jitter_ns: each frame, of whatever kind, takes up to so much longer, evenly distributed.
            seed: of what is lost, and of the jitter.

        Raises:
            ValueError: no such port, or what cannot be.
            KeyError: no such switch.
        """

    def add_host(
        self,
        config: EndpointConfig,
        switch: str,
        port: int,
        *,
        nic_rate_bps: int = 0,
        delay_ns: int = 0,
        drift_ppm: float = 0.0,
        clock_offset_ns: int = 0,
    ) -> None:
        """A host at a memory port. Rank n of the job is host n: they are added in their order.

        Args:
            nic_rate_bps: of its link to the switch, 0 for no limit; the way back has the port's rate.
            delay_ns: propagation delay of the link, each way.
            drift_ppm: microseconds that its clock gains in a second.
            clock_offset_ns: what its clock shows at the begin.

        Raises:
            ValueError: not its turn, no memory port, taken already, or authenticated without payloads.
            KeyError: no such switch.
        """

    def connect(self) -> None:
        """Everybody gets everybody's address; once all are added."""

    def kill(self, host: int) -> None:
        """Nothing more comes from or goes to this host."""

    def memory(self, host: int) -> dict[str, int]:
        """Bytes that its endpoint has taken from the system, by what for
        (`hostlib/native/csaud_host/contract/memory.hpp`)."""

    def add_bursts(
        self,
        switch: str,
        port: int,
        *,
        src_ipv4: int,
        dst_ipv4: int,
        udp_port: int,
        payload: int,
        burst: int,
        interval_ns: float,
        every_ns: float,
        nic_rate_bps: int = 0,
        delay_ns: int = 0,
    ) -> int:
        """Plain UDP from now on, through the NIC of the host at a memory port, in turn with all else that it
        sends; where there is no host, of one that does nothing else. Returns which of all such it is.

        Args:
            udp_port: source and destination.
            payload: bytes of a packet.
            burst: packets of a burst.
            interval_ns: between two of them; every_ns: between the begins of two bursts. What is due while
                the NIC is busy follows.
            nic_rate_bps, delay_ns: as of `add_host`, of a host that there is not.

        Raises:
            ValueError: no memory port, or a plan that cannot be.
            KeyError: no such switch.
        """

    def stop_bursts(self) -> None:
        """No more packets of any of them."""

    def bursts_sent(self) -> npt.NDArray[np.uint64]:
        """Packets of each."""

    def figures(self) -> Figures:
        """ValueError without a ledger; so `recoveries`, `messages` and `links`."""

    def recoveries(self) -> npt.NDArray[np.int64]:
        """Of each packet whose first copy was lost and of which another one has arrived: the time between."""

    def links(self) -> LinkColumns: ...

def transports() -> list[TransportKind]:
    """Every transport beside CSA-UD."""

def pfc_headroom(rate_bps: int, delay_ns: int, pipeline_ns: int) -> int:
    """Bytes that still come by a link after a pause was told."""

class PlainNetwork:
    """What is wired to what; switches, ports and hosts are numbered as they are added, from 0."""

    def add_switch(self, seed: int) -> int:
        """Returns its number. `seed`: of its choices among paths."""

    def add_link(self, a: int, b: int, *, rate_bps: int, delay_ns: int) -> tuple[int, int]:
        """Returns the ports at both switches."""

    def set_route(self, switch: int, destination: int, ports: list[int]) -> None:
        """Ports of a switch that begin shortest paths to hosts of another one."""

    def set_room(
        self,
        switch: int,
        port: int,
        *,
        data: int,
        control: int,
        marks: tuple[int, int] | None,
        rate_bps: int,
        mark_seed: int,
    ) -> None:
        """What the P4 program's limits would be at a port, packets: DATA is lost from `data` on, the rest
        from `control` on; marks are between two depths. Parameters of the transport go before."""

    def set_fault(
        self, switch: int, port: int, kind: int, *, threshold: int, seed: int, signalled: bool
    ) -> None:
        """As the P4 program's `fault.lose`, of one kind of packets at a port."""

    def set_rate(self, switch: int, port: int, rate_bps: int) -> None:
        """Of what leaves by a port, bit/s; 0: unlimited."""

    def set_up(self, switch: int, port: int, up: bool) -> None:
        """What leaves by a port arrives, or gets lost; what is on its way then is lost. Routes stay."""

    @property
    def data_lost(self) -> int:
        """DATA that links lost while they were down."""

    def switch_figures(self, switch: int) -> SwitchFigures:
        """What a switch counted."""

    def links(self) -> LinkColumns:
        """As of `Simulation`; `switch` and `port` are numbers, and there is no `to`."""

class PlainFabric(PlainNetwork):
    """Plain switches whose hosts only keep what arrives: packets go in at a time, and come out.

    Args:
        parameters: those that all transports have for switches.
    """

    def __init__(
        self, parameters: dict[str, float], *, overhead_bytes: int = 0, pipeline_ns: int = 0
    ) -> None: ...
    def add_host(self, switch: int, *, rate_bps: int, delay_ns: int = 0) -> int: ...
    def inject(
        self,
        src: int,
        dst: int,
        *,
        tag: int,
        bytes: int,
        kind: int = 1,
        listens: bool = False,
        entropy: int = 0,
        now: int,
    ) -> None:
        """A packet arrives at the switch of host `src`, from it; what is due before `now` happens first."""

    def advance(self, now: int) -> None: ...
    def take(self) -> list[tuple[int, int, int, int, bool, int]]:
        """What arrived: host, tag, bytes, kind, marked, time of its last bit."""

class PlainPacket:
    """What a baseline's transport sends."""

    @property
    def src(self) -> int: ...
    @property
    def dst(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def payload(self) -> int: ...
    @property
    def psn(self) -> int: ...
    @property
    def ack(self) -> int: ...
    @property
    def type(self) -> int: ...
    @property
    def again(self) -> bool: ...
    @property
    def path(self) -> int: ...
    @property
    def entropy(self) -> int: ...
    @property
    def is_data(self) -> bool: ...
    marked: bool
    def cut(self, bytes: int = 60) -> PlainPacket:
        """What a switch leaves of it that has no room."""

class BaselineEndpoint:
    """A baseline's transport by itself, under the caller's time."""

    def __init__(
        self,
        transport: str,
        parameters: dict[str, float],
        *,
        rank: int,
        hosts: int = 2,
        rate_bps: int = 100_000_000_000,
        base_rtt_ns: int = 10_000,
        seed: int = 1,
    ) -> None: ...
    def send(self, dst: int, bytes: int, flow: int = 0, *, now: int) -> None:
        """Post a message; messages of a flow are one after the other."""

    def next(self, now: int, data: bool = True) -> PlainPacket | None:
        """The next packet that may go; without `data`, of those that are not paused."""

    def packet(self, packet: PlainPacket, now: int) -> None: ...
    def timer(self, now: int) -> None: ...
    @property
    def deadline(self) -> int | None: ...
    @property
    def quiet(self) -> bool: ...
    def take_events(self) -> list[tuple[str, int]]:
        """`delivered` and `acknowledged`, with bytes of messages, since the last call."""

    def stats(self) -> dict[str, int]: ...

class PlainSimulation(_Work, PlainNetwork):
    """Hosts of one such transport on plain switches.

    Raises:
        ValueError: the transport is not known, or has no such parameter or value.
    """

    def __init__(
        self,
        transport: str,
        parameters: dict[str, float],
        *,
        overhead_bytes: int = 24,
        pipeline_ns: int = 0,
        trace: int | None = None,
        engine: str | None = None,
        failover: bool = False,
    ) -> None: ...
    def add_host(self, switch: int, *, rate_bps: int, delay_ns: int, base_rtt_ns: int, seed: int) -> int:
        """The next host; returns its port of the switch.

        Args:
            base_rtt_ns: of a full packet and its acknowledgement over the longest path of the idle fabric.
        """

def length_only(bytes: int) -> npt.NDArray[np.uint8]:
    """An array over little memory that is used again and again, for buffers whose content is of no concern.

    What is written to one place changes others.
    """

def without_reduction(collective: Collective) -> Collective:
    """The same collective, whose reductions leave their results as they are: for `length_only` buffers."""
