"""Tofino and Tofino 2 behind a P4Runtime server that takes BfPipelineConfig, as Stratum's does.

Their programs (p4src/tna) have v1model's names; what they count in other units, lack or need besides is put
right here. It is tested by the messages that it makes: no such switch has been programmed yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import Fabric
from csaud_controller.policy.model import Policy
from csaud_controller.policy.signals import HEADERS_ONLY
from csaud_controller.program.artifacts import Artifacts, ArtifactsError
from csaud_controller.program.entities import (
    SECOND_CHOICE,
    Call,
    CloneSession,
    Member,
    TableState,
    call,
    table_state,
)
from csaud_controller.targets.base import Target, unwatched
from csaud_controller.targets.bfconfig import bf_pipeline_config

_TICK_NS = 256
"""The chips' unit of time."""
_ETHERNET = 14 + 4
"""Bytes of a frame beside its IP packet, FCS included."""
_MIRROR_HEADER = 7
"""Bytes that the program puts before a mirrored copy (`made_t` of p4src/tna/metadata.p4): a session's length
is of them and of what it leaves of the frame."""
_ALL_PORTS = 0x7F
_LOSS_QUEUE = 7

Args = Mapping[str, int]


class Tofino(Target):
    """The first one, behind Stratum, which refuses watch ports (dead links are found by probes), instances of
    clone sessions, and sessions without exactly one port. That there is no room is found out by the traffic
    manager, which deflects what it would drop: thresholds are settings of the traffic manager, which
    P4Runtime does not reach."""

    name = "tofino"
    binary = "tofino.bin"
    cell_bytes = 80
    """Of the traffic manager's buffer."""
    lacks_tables: tuple[str, ...] = ("loss_signal.return_limits", "spray.alternative")
    lacks_actions: tuple[str, ...] = ("spray.least_queue",)
    loss_session, alarm_session, deflection_port = 512, 1000, 68

    def find_program(self, directory: Path | None = None) -> Artifacts:
        """P4Info and binary in `directory`, where p4c's backend and its assembler leave them. ArtifactsError
        says what is missing."""
        if directory is None:
            raise ArtifactsError(
                f"target {self.name} needs --program DIR with {self.program}.p4info.txtpb, {self.binary} and"
                " context.json: no binary for it is part of this package"
            )
        p4info = _first(directory / f"{self.program}.p4info.txtpb", directory / "p4info.txt")
        return Artifacts(p4info, _first(directory / "pipe" / self.binary, directory / self.binary))

    def device_config(self, artifacts: Artifacts) -> bytes:
        """A serialised BfPipelineConfig."""
        bfrt = artifacts.p4info.with_name("bfrt.json")
        return bf_pipeline_config(
            self.program,
            bfrt.read_bytes() if bfrt.exists() else b"",
            context=_first(artifacts.config.with_name("context.json")).read_bytes(),
            binary=artifacts.config.read_bytes(),
        )

    def check(self, policy: Policy) -> None:
        """FieldError when the policy asks for a spray mode that the chip has not. (Where a host asks for it,
        the fabric's own mode holds.)"""
        if "spray.least_queue" not in self.lacks_actions:
            return
        rows = [(("spray",), policy.spray)]
        rows += [(("overrides", n, "spray"), rule.spray) for n, rule in enumerate(policy.overrides)]  # type: ignore[misc]
        for loc, mode in rows:
            if mode == "least-queue":
                raise FieldError(
                    loc, f"target {self.name} has no least-queue: it knows depths behind the queue only"
                )

    def adapt(self, state: TableState, fabric: Fabric) -> TableState:
        frame = fabric.mtu + _ETHERNET
        units = -(-frame // self.cell_bytes)
        # the chips cannot divide a path_id, and take its hash
        instead = {"spray.host_directed_above": call("spray.entropy", seed=_own_seed(state))}
        entries = [
            replace(entry, action=self._action(entry.action, units, instead))
            for entry in state.entries.values()
            if entry.table not in self.lacks_tables
            and not (isinstance(entry.action, Call) and entry.action.action in self.lacks_actions)
        ]
        members = [m for m in map(self._member, state.members.values()) if m is not None]
        groups = [
            replace(unwatched(group), selector=self._selector(group.selector))
            for group in state.groups.values()
            if group.selector != SECOND_CHOICE or "spray.alternative" not in self.lacks_tables
        ]
        # Stratum keeps nothing of a digest's config but the time
        digests = [replace(digest, list_size=0) for digest in state.digests.values()]
        return table_state([*entries, *members, *groups, *self._sessions(state), *digests])

    def alarm(self, digest: Mapping[str, Any]) -> Mapping[str, Any]:
        """Its clock counts ticks; depths stay cells."""
        return {**digest, "at_us": int(digest["at"]) * _TICK_NS // 1000}

    def _action(self, action: Any, units: int, instead: Mapping[str, Call]) -> Any:
        if not isinstance(action, Call):
            return action
        if action.action not in self._changed:
            return instead.get(action.action, action)
        made = self._changed[action.action](self, dict(action.args), units)
        return call(action.action, **made)

    def _member(self, member: Member) -> Member | None:
        return None if member.selector == SECOND_CHOICE else member

    def _selector(self, name: str) -> str:
        return name

    def _sessions(self, state: TableState) -> list[CloneSession]:
        """Mirror sessions: one to each port's queue of LOSS, cut to the longest LOSS; one for alarms."""
        length = _longest_loss(state)
        ports = sorted(member.id for member in state.members.values() if member.selector != SECOND_CHOICE)
        made = [CloneSession(self.loss_session + port, ((port, 0),), _LOSS_QUEUE, length) for port in ports]
        return [*made, CloneSession(self.alarm_session, ((self.deflection_port, 0),), 0, length)]

    def _limits(self, args: Args, units: int) -> dict[str, int]:
        return {"alarm_at": _depth(args["alarm_at"], units)}

    _changed: Mapping[str, Callable[[Any, Args, int], dict[str, int]]] = {
        "punt.to_cpu": lambda self, args, units: {},
        "spray.random": lambda self, args, units: {},
        "spray.least_queue": lambda self, args, units: {},
        "spray.flowlet": lambda self, args, units: {"gap": args["gap"] * 1000 // _TICK_NS},
        "fault.lose": lambda self, args, units: {k: v for k, v in args.items() if k != "seed"},
        "ecn.mark_between": lambda self, args, units: _marks(args["low"], args["high"], units),
        "congestion.report": lambda self, args, units: {"interval": args["interval_us"] * 1000 // _TICK_NS},
        "congestion.set_limits": lambda self, args, units: self._limits(args, units),
    }


class Tofino2(Tofino):
    """Its ghost thread tells depths before the queue: thresholds and the less loaded of two are in the
    program."""

    name = "tofino2"
    binary = "tofino2.bin"
    cell_bytes = 176
    lacks_tables = ("loss_signal.return_limits",)
    lacks_actions = ()

    def _member(self, member: Member) -> Member | None:
        """A member also names the port's queue of DATA, as the ghost thread numbers queues: 16 a port."""
        is_second = member.selector == SECOND_CHOICE
        action = "spray.forward_alternative" if is_second else "spray.forward"
        port = dict(member.action.args)["port"]
        queue = (port & _ALL_PORTS) * 16
        return Member(member.id, call(action, port=port, queue=queue), self._selector(member.selector))

    def _selector(self, name: str) -> str:
        return "spray.alternative_selector" if name == SECOND_CHOICE else name

    def _sessions(self, state: TableState) -> list[CloneSession]:
        """One that only cuts: port and queue come from the packet. Stratum wants a port all the same."""
        port = min(member.id for member in state.members.values())
        return [CloneSession(1, ((port, 0),), 0, _longest_loss(state))]

    def _limits(self, args: Args, units: int) -> dict[str, int]:
        """Depths in cells. The share of LOSS is a weight of the traffic manager's."""
        return {name: _depth(value, units) for name, value in args.items() if name != "loss_byte_time"}


def _first(*places: Path) -> Path:
    for place in places:
        if place.is_file():
            return place
    raise ArtifactsError(f"no {' and no '.join(map(str, places))}")


def _own_seed(state: TableState) -> int:
    """That of the switch's ECMP, which every switch has and no two alike."""
    calls = (entry.action for entry in state.entries.values() if isinstance(entry.action, Call))
    return next((dict(each.args)["seed"] for each in calls if each.action == "spray.ecmp"), 0)


def _depth(packets: int, cells: int) -> int:
    """Packets of so many cells each, in cells."""
    return min(packets * cells, 0xFFFF)


def _marks(low: int, high: int, cells: int) -> dict[str, int]:
    """Where marking begins, and the width of its rise: one less than a power of two, nearest to the width."""
    start = _depth(low, cells)
    width = _depth(high, cells) - start
    span = min(((1 << bits) - 1 for bits in range(1, 16)), key=lambda each: abs(each - width))
    return {"low": start, "span": span}


def _longest_loss(state: TableState) -> int:
    """Of a mirror session: a LOSS gets its iCRC only behind the mirror, from headers alone."""
    calls = (
        dict(entry.action.args)
        for entry in state.entries.values()
        if entry.table == "loss_signal.signal" and isinstance(entry.action, Call)
    )
    sizes = [args["size"] for args in calls if not args.get("icrc", 1)]
    return _MIRROR_HEADER + max([HEADERS_ONLY, *sizes])
