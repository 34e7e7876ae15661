"""What the native module tells, as dictionaries: columns, figures, and what transports can be told.

Times are ns since the begin.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import numpy.typing as npt


class FlowColumns(TypedDict):
    """One row a flow, in the order in which they were added."""

    src: npt.NDArray[np.uint16]
    dst: npt.NDArray[np.uint16]
    bytes: npt.NDArray[np.uint64]
    start_ns: npt.NDArray[np.int64]
    finished_ns: npt.NDArray[np.float64]
    """When the last byte had arrived; nan: it has not."""
    acked_ns: npt.NDArray[np.float64]
    """When its sender knew; nan: it does not."""
    status: npt.NDArray[np.uint8]
    """0: nothing went wrong so far; otherwise as `csaud._core.Status`."""


class MessageColumns(TypedDict):
    """One row a message of a collective that has arrived."""

    src: npt.NDArray[np.uint16]
    dst: npt.NDArray[np.uint16]
    comm: npt.NDArray[np.uint16]
    collective: npt.NDArray[np.uint32]
    """Number within the communicator."""
    bytes: npt.NDArray[np.uint64]
    posted_ns: npt.NDArray[np.int64]
    """When its send was posted."""
    arrived_ns: npt.NDArray[np.int64]
    """When its last byte had arrived."""


class LinkColumns(TypedDict):
    """One row a port of a switch that has sent something."""

    switch: list[str]
    to: list[str]
    """The switch at the other end; '': a host."""
    port: npt.NDArray[np.uint32]
    frames: npt.NDArray[np.uint64]
    bytes: npt.NDArray[np.uint64]
    data: npt.NDArray[np.uint64]
    """Frames that are DATA."""
    busy_ns: npt.NDArray[np.int64]
    """Time that it was sending."""
    queue_p50_ns: npt.NDArray[np.uint64]
    """How long DATA waited in its queue, within 1.6 %; so the others."""
    queue_p99_ns: npt.NDArray[np.uint64]
    queue_max_ns: npt.NDArray[np.uint64]


class TraceColumns(TypedDict):
    """One row an event on a link."""

    time_ns: npt.NDArray[np.int64]
    """Of a frame's last bit."""
    place: npt.NDArray[np.uint32]
    """Number of the direction of a link."""
    kind: npt.NDArray[np.uint8]
    """0: sent, 1: arrived, 2: lost with its link."""
    bytes: npt.NDArray[np.uint32]


class Figures(TypedDict):
    """Bytes are those of frames, from the Ethernet header on, without FCS."""

    data_bytes: int
    """DATA that hosts sent."""
    retransmitted_bytes: int
    """Of it, copies that were not the first."""
    spurious_bytes: int
    """Of these, copies sent while an earlier one was not lost."""
    duplicate_bytes: int
    """DATA that hosts received more than once."""
    control_bytes: int
    """Everything else that hosts sent."""
    reassembly_bytes: int
    """Most that a host held at a time for messages that were to come or coming (looked at with every 32nd
    frame)."""
    parity_lost: int
    """PARITY, in packets, that ended before its host."""
    link_lost: int
    """DATA, in packets, that impaired links lost."""


class SwitchFigures(TypedDict):
    """Counts of a plain switch; lists are by kind of packet, as in the P4 program: other, DATA, control,
    LOSS."""

    hops: int
    injected: list[int]
    dropped: list[int]
    no_path: list[int]
    """No route led on."""
    cut: int
    marked: int
    pauses: int
    most_queued: int
    """Bytes at one port."""
    most_held: int
    """Bytes of DATA at all ports, with PFC."""


class Parameter(TypedDict):
    """What can be said of a transport beside its name."""

    name: str
    unit: str
    """time (ns), rate (bit/s), bytes, packets, share, number, flag (0 or 1), or choice (an index)."""
    default: float
    least: float
    most: float
    about: str
    """Its meaning, and where the default is from."""
    choices: list[str]


class TransportKind(TypedDict):
    """A transport of the registry."""

    name: str
    about: str
    parameters: list[Parameter]
