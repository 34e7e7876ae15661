"""Packets that come with what earlier ones left in them: a second switch of the fabric, which fills
every word of a packet with ones. The fabric's packets come from one pool, the last that was given back first.
"""

from __future__ import annotations

import json
from typing import Any

from csaud_softswitch import _core

NAME, PORT, GROUP = "dirty", 1, 0xFFFF
COPIES = 4  # packets at a time


def add(fabric: _core.Fabric, bmv2_json: str) -> None:
    """A switch with the same headers as the program, and so the same words."""
    switch = fabric.add_switch(NAME, 999)
    switch.load(json.dumps(_program(json.loads(bmv2_json))))
    fabric.add_memory_port(NAME, PORT)
    switch.multicast_group_set(GROUP, [(PORT, number) for number in range(COPIES)])


def spread(fabric: _core.Fabric) -> None:
    """The next packets have ones in all their words; some frames of the dirty switch are to be polled."""
    fabric.inject(NAME, PORT, bytes(64), fabric.now)


def _program(document: dict[str, Any]) -> dict[str, Any]:
    """All headers become valid, all fields ones; so the packet is for multicast group 0xffff."""
    types = {kind["name"]: kind for kind in document["header_types"]}
    primitives: list[dict[str, Any]] = []
    for header in document["headers"]:
        if not header["metadata"]:
            primitives.append(_primitive("add_header", {"type": "header", "value": header["name"]}))
        for name, width, *_ in types[header["header_type"]]["fields"]:
            if isinstance(width, int) and width <= 128:
                field = {"type": "field", "value": [header["name"], name]}
                ones = {"type": "hexstr", "value": hex((1 << width) - 1)}
                primitives.append(_primitive("assign", field, ones))
    action = {"name": "all_ones", "id": 1, "runtime_data": [], "primitives": primitives}
    call = {"name": "call", "id": 0, "action_id": 1, "next_node": None}
    nothing: dict[str, Any] = {"tables": [], "conditionals": [], "action_profiles": []}
    accept = {"type": "default", "value": None, "mask": None, "next_state": None}
    state = {"name": "start", "id": 0, "parser_ops": [], "transition_key": [], "transitions": [accept]}
    return {
        **document,
        "actions": [action],
        "parsers": [{"name": "parser", "id": 0, "init_state": "start", "parse_states": [state]}],
        "pipelines": [
            {"name": "ingress", "id": 0, "init_table": "call", "action_calls": [call], **nothing},
            {"name": "egress", "id": 1, "init_table": None, "action_calls": [], **nothing},
        ],
        "checksums": [],
        "deparsers": [{"name": "deparser", "id": 0, "order": []}],
    }


def _primitive(op: str, *parameters: dict[str, Any]) -> dict[str, Any]:
    return {"op": op, "parameters": list(parameters)}
