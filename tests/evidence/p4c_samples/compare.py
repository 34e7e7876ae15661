"""One program on both switches: the same random frames, one at a time, what comes out byte for byte."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import grpc
from csaud_softswitch.exchange.soft import SoftTarget
from csaud_softswitch.p4runtime.errors import P4RuntimeError
from csaud_softswitch.p4runtime.proto import p4r

from tests.evidence.bmv2 import Bench, running
from tests.evidence.differential import Outputs, Reference, counted
from tests.evidence.p4c_samples.frames import frame

PORTS = range(16)
"""Both have these; what is sent to another is not compared."""


STALE = "reads headers that are not valid, in which simple_switch_grpc has what earlier packets left"


@dataclass
class Outcome:
    """result: alike, alike one by one, refused here, refused there, refused by both, differed, ended there,
    not compilable.
    """

    result: str
    frames_in: int = 0
    frames_out: int = 0
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if value}


ENDS = 12


class EndedThere(RuntimeError):
    """simple_switch_grpc ended, or took no more packets, at frame `number` or the one before."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(f"at frame {number} or the one before: {why}"[:200])
        self.number = number


Config = p4r.ForwardingPipelineConfig
Sent = list[tuple[int, bytes]]
"""(port, frame)"""


def compare(config: Config, seed: str, count: int, there: Config | None = None) -> Outcome:
    """`count` random frames from a seed; `there`: what simple_switch_grpc runs, if another program."""
    chance = random.Random(seed)
    sent = [(chance.choice(PORTS), frame(chance)) for _ in range(count)]
    here, there = "", there or config
    try:
        SoftTarget(config, PORTS)
    except P4RuntimeError as error:
        here = error.message
    try:
        if here:
            with running(there):
                return Outcome("refused here", reason=here)
        return of_frames(config, sent, there)
    except grpc.RpcError as error:
        told = error.details() if isinstance(error, grpc.Call) else str(error)
        if here:
            return Outcome("refused by both", reason=here)
        return Outcome("refused there", reason=told)


def of_frames(config: Config, sent: Sent, there: Config) -> Outcome:
    """These frames; those that end simple_switch_grpc are left out, up to ENDS times."""
    ended = 0
    sent = list(sent)
    while True:
        try:
            outcome = _once(config, sent, there)
        except EndedThere as error:
            ended += 1
            if ended > ENDS or len(sent) < 2:
                return Outcome("ended there", frames_in=len(sent), reason=str(error))
            # It was this frame, or the one before: that is learned when the next is to go in.
            del sent[max(error.number - 1, 0) : error.number + 1]
            continue
        if ended:
            outcome.reason += f" (it ended {ended} times: up to {2 * ended} frames are left out)"
        return outcome


def _once(config: Config, sent: Sent, there: Config) -> Outcome:
    with running(there) as bench:
        reference = Reference(bench, PORTS)
        try:
            outcome = _in_sequence(config, reference, sent)
            if outcome.result != "alike":
                outcome = _one_by_one(config, bench, reference, sent)
        finally:
            reference.stream.close()
        if bench.process.poll() is not None:
            raise EndedThere(len(sent) - 1, f"with status {bench.process.returncode}")
        return outcome


def _in_sequence(config: Config, reference: Reference, sent: Sent) -> Outcome:
    """All frames through one switch: alike or differed."""
    soft = SoftTarget(config, PORTS)
    mine: Outputs = Counter()
    for number, item in enumerate(sent):
        mine += _pass(soft, reference, item, number)
    other = _known(reference.outputs(_packet_ins(mine)))
    return Outcome("alike" if mine == other else "differed", len(sent), mine.total())


def _one_by_one(config: Config, bench: Bench, reference: Reference, sent: Sent) -> Outcome:
    """Each frame through a program that was just loaded. Only there are fields of headers that are not valid
    the same on both; later simple_switch_grpc has in them what earlier packets left.
    """
    outcome = Outcome("differed", len(sent))
    for number, item in enumerate(sent):
        try:
            bench.client.load()
        except grpc.RpcError as error:
            raise EndedThere(number, str(error)) from None
        mine = _pass(SoftTarget(config, PORTS), reference, item, number)
        other = _known(reference.outputs(_packet_ins(mine)))
        outcome.frames_out += mine.total()
        if mine != other and not outcome.reason:
            outcome.reason = _difference(number, item, mine, other)
    if outcome.reason:
        return outcome
    if _keeps_state(config):
        outcome.reason = "in sequence only"
    else:
        outcome.result, outcome.reason = "alike one by one", STALE
    return outcome


def _keeps_state(config: Config) -> bool:
    """Can one packet of a program change what becomes of the next?"""
    program = json.loads(config.p4_device_config)
    return any(program.get(kind) for kind in ("register_arrays", "meter_arrays", "extern_instances"))


def _pass(soft: SoftTarget, reference: Reference, item: tuple[int, bytes], number: int) -> Outputs:
    """One frame through both; what came out here."""
    soft.send(*item)
    left = [(departure.port, departure.frame) for departure in soft.departures()]
    try:
        reference.send(*item, len(left))
    except ConnectionError as error:
        raise EndedThere(number, str(error)) from None
    return counted(left, soft.packet_ins())


def _packet_ins(outputs: Outputs) -> int:
    return sum(n for key, n in outputs.items() if key[0] == "cpu")


def _known(outputs: Outputs) -> Outputs:
    return Counter({key: n for key, n in outputs.items() if key[0] == "cpu" or key[0] in PORTS})


def _difference(number: int, item: tuple[int, bytes], mine: Outputs, other: Outputs) -> str:
    port, data = item
    here, there = [sorted(map(str, only)) for only in (mine - other, other - mine)]
    return f"frame {number}, {data.hex()} at port {port}: only here {here}, only there {there}"
