"""Runs a trace on the embedded switch."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable

from csaud_softswitch import _core
from csaud_softswitch.stf import names
from csaud_softswitch.stf.trace import (
    Add,
    Call,
    Counter,
    Expect,
    Packet,
    SetDefault,
    Target,
    Trace,
    TraceError,
)

_PAUSE_NS = 1_000_000_000  # after each command: what it brings about has happened then
_RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Runner:
    """One switch with the program and a memory port for every port that the trace names."""

    def __init__(self, program: str, trace: Trace, *, seed: int = 0) -> None:
        """program: BMv2's JSON. Raises ProgramError when it cannot be run."""
        self._trace = trace
        self._fabric = _core.Fabric(seed)
        self._switch = self._fabric.add_switch("s", 1)
        self._switch.load(program)
        ports = {c.port for _, c in trace.commands if isinstance(c, Packet | Expect)}
        for port in sorted(ports):
            self._fabric.add_memory_port("s", port)
        self._tables = {table["name"]: table for table in self._switch.tables()}
        self._nodes: list[tuple[int, list[int]]] = []  # (rid, ports) of each replication node
        self._groups: dict[int, list[int]] = defaultdict(list)  # group -> handles of nodes
        self._expected: dict[int, list[tuple[int, Expect]]] = defaultdict(list)
        self._came: dict[int, list[bytes]] = defaultdict(list)

    def run(self) -> list[str]:
        """What is not as the trace says; empty when all is. Raises TraceError for what it cannot ask for."""
        wrong: list[str] = []
        for line, command in self._trace.commands:
            try:
                match command:
                    case Add():
                        self._add(command)
                    case SetDefault(table, call):
                        info = self._table(table)
                        self._switch.table_set_default(info["name"], self._action(info, call))
                    case Packet(port, frame):
                        self._fabric.inject("s", port, frame, self._fabric.now)
                    case Expect():
                        self._expected[command.port].append((line, command))
                    case Counter():
                        self._collect()
                        wrong += self._check(line, command)
                    case Target(words):
                        self._target(words)
            except (ValueError, LookupError) as error:
                raise TraceError(f"line {line}: {error}") from error
            self._collect()
        return wrong + self._compare()

    def _collect(self) -> None:
        self._fabric.advance(self._fabric.now + _PAUSE_NS)
        for _, port, frame, _ in self._fabric.poll():
            self._came[port].append(frame)

    def _compare(self) -> list[str]:
        wrong = []
        for port in sorted(self._expected.keys() | self._came.keys()):
            wanted, came = self._expected.get(port, []), self._came.get(port, [])
            if any(expect.digits is None for _, expect in wanted):
                continue  # p4c's runner does not look at such a port any more
            if len(wanted) != len(came):
                wrong.append(f"port {port}: {len(came)} frames, expected {len(wanted)}")
            for (line, expect), frame in zip(wanted, came, strict=False):
                if not fits(expect, frame):
                    wrong.append(f"line {line}: port {port}: got {frame.hex()}, expected {expect.digits}")
        return wrong

    # --- entries

    def _table(self, name: str) -> _core.TableInfo:
        return self._tables[names.resolve(name, self._tables, "table")]

    def _action(self, table: _core.TableInfo, call: Call) -> _core.ActionCall:
        actions = {action["name"]: action for action in table["actions"]}
        action = actions[names.resolve(call.action, actions, "action")]
        unknown = call.arguments.keys() - {name for name, _ in action["params"]}
        if unknown:
            raise ValueError(f"action '{action['name']}' has no parameter {sorted(unknown)}")
        values = [
            names.to_bytes(names.number(call.arguments[name]), width) for name, width in action["params"]
        ]
        return ("action", action["name"], values)

    def _add(self, command: Add) -> None:
        table = self._table(command.table)
        known = [key["name"] for key in table["keys"]]
        given = {names.key_name(name, known): value for name, value in command.keys.items()}
        match: list[_core.MatchField] = []
        for key in table["keys"]:
            if key["name"] in given:
                match.append(names.match_field(key, given[key["name"]]))
            elif key["match_type"] == "exact":
                match.append(("exact", names.to_bytes(0, key["width"])))  # as p4c's runner
            else:
                match.append(None)
        kinds = [key["match_type"] for key in table["keys"]]
        ranked = any(kind in ("ternary", "range", "optional") for kind in kinds) or kinds.count("lpm") > 1
        self._switch.table_insert(
            table["name"], match, (command.priority or 1) if ranked else 0, self._action(table, command.call)
        )

    # --- counters and commands of the target

    def _check(self, line: int, check: Counter) -> list[str]:
        counters = {counter["name"]: counter for counter in self._switch.counters()}
        name = names.resolve(check.name, counters, "counter")
        if counters[name]["table"] is not None:
            raise ValueError(f"'{name}' is a direct counter")
        packets, octets = self._switch.counter_read(name, names.number(check.index))
        value = octets if check.kind == "bytes" else packets
        if _RELATIONS[check.relation](value, check.value):
            return []
        return [f"line {line}: {name}[{check.index}] is {value}, expected {check.relation} {check.value}"]

    def _target(self, words: list[str]) -> None:
        command, arguments = words[0], words[1:]
        registers = {array["name"]: array for array in self._switch.registers()}
        meters = {meter["name"]: meter for meter in self._switch.meters()}
        match command, arguments:
            case "mirroring_add", [session, port]:
                self._switch.clone_session_set(int(session), [(int(port), 0)])
            case "mirroring_add_mc", [session, group]:
                self._switch.clone_session_set(int(session), self._replicas(int(group)))
            case "mirroring_delete", [session]:
                self._switch.clone_session_delete(int(session))
            case "mc_mgrp_create", [group]:
                self._set_group(int(group))
            case "mc_node_create", [rid, *ports]:
                self._nodes.append((int(rid), [int(port) for port in ports]))
            case "mc_node_associate", [group, handle]:
                self._groups[int(group)].append(int(handle))
                self._set_group(int(group))
            case "register_write", [name, index, value]:
                self._switch.register_write(
                    names.resolve(name, registers, "register"), int(index), names.number(value)
                )
            case "register_reset", [name]:
                array = registers[names.resolve(name, registers, "register")]
                for cell in range(array["size"]):
                    self._switch.register_write(array["name"], cell, 0)
            case "meter_set_rates", [name, index, *rates]:
                self._switch.meter_set(names.resolve(name, meters, "meter"), int(index), _rates(rates))
            case "meter_array_set_rates", [name, *rates]:
                meter = meters[names.resolve(name, meters, "meter")]
                for cell in range(meter["size"]):
                    self._switch.meter_set(meter["name"], cell, _rates(rates))
            case (("mirroring_get" | "counter_read" | "register_read" | "meter_get_rates"), _):
                pass  # they only print
            case _:
                raise ValueError(f"'{' '.join(words)}' is not supported")

    def _replicas(self, group: int) -> list[tuple[int, int]]:
        nodes = [self._nodes[handle] for handle in self._groups[group]]
        return [(port, rid) for rid, ports in nodes for port in ports]

    def _set_group(self, group: int) -> None:
        self._switch.multicast_group_set(group, self._replicas(group))


def fits(expect: Expect, frame: bytes) -> bool:
    """Does the frame begin with what is expected, and end with it when the trace says so?"""
    if expect.digits is None:
        return True
    got = frame.hex()
    if len(got) < len(expect.digits) or (expect.exact and len(got) > len(expect.digits)):
        return False
    return all(wanted in ("*", digit) for wanted, digit in zip(expect.digits, got, strict=False))


def _rates(words: list[str]) -> _core.MeterRates:
    """simple_switch_CLI's RATE:BURST of committed and peak rate, in units a microsecond."""
    pairs = [word.split(":") for word in words]
    if len(pairs) != 2:
        raise ValueError(f"'{' '.join(words)}': expected a committed and a peak rate")
    (committed, committed_burst), (peak, peak_burst) = pairs
    return float(committed) * 1e6, int(committed_burst), float(peak) * 1e6, int(peak_burst)
