"""p4src/tna says what p4src/v1model says, by the same names, for another chip."""

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from finsy import P4Schema
from finsy.p4schema import P4Table

ROOT = Path(__file__).resolve().parents[2]
P4SRC = ROOT / "p4src"
TNA, V1MODEL, SHARED = P4SRC / "tna", P4SRC / "v1model", P4SRC / "shared"

# What one of the two has and the other has not, each for a reason that docs/tofino.md gives.
FILES_OF_THE_CHIP = {
    "target_tofino1.p4", "target_tofino2.p4",
    "pipeline_tofino1.p4", "pipeline_tofino2.p4",
    "congestion_tofino1.p4", "congestion_tofino2.p4",
}  # fmt: skip
SPLIT_BY_CHIP = {"congestion.p4"}
CONTROLS_ELSEWHERE = {
    "VerifyIpv4": "the parser verifies",
    "Arrival": "Congestion on Tofino 2, Alarm on Tofino",
    "CsaudDeparser": "one for ingress and one for egress",
    "CsaudIngress": "pipeline_tofino1.p4 and pipeline_tofino2.p4",
    "CsaudEgress": "pipeline_tofino1.p4 and pipeline_tofino2.p4",
}
STATES_ABSENT = {"parse_ipv6", "parse_icmpv6", "parse_solicitation", "parse_advertisement"}
IPV6 = {"route.ipv6_lpm", "edge.sources6"}
TABLES_ABSENT = {
    "tofino": {"spray.alternative", "loss_signal.return_limits", *IPV6},
    "tofino2": {"loss_signal.return_limits", *IPV6},
}
ACTIONS_DIFFERENT = {  # (v1model's, the chip's), by table
    "tofino": {"spray.policy": ({"host_directed_above", "least_queue"}, set())},
    "tofino2": {
        "spray.policy": ({"host_directed_above"}, set()),
        "spray.alternative": ({"forward"}, {"forward_alternative"}),
    },
}
PARAMETERS_DIFFERENT = {
    "tofino": {"to_cpu", "lose", "random", "flowlet", "mark_between", "set_limits", "report"},
    "tofino2": {
        "to_cpu",
        "lose",
        "random",
        "flowlet",
        "least_queue",
        "mark_between",
        "set_limits",
        "report",
        "forward",
    },
}
COUNTERS_ABSENT = {
    "tofino": {
        "congestion.overflow", "loss_signal.both", "loss_signal.trim_dropped", "loss_signal.bounce_dropped",
        "punt.held_back",
    },
    "tofino2": {
        "loss_signal.both", "loss_signal.trim_dropped", "loss_signal.bounce_dropped", "punt.held_back",
    },
}  # fmt: skip


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, P4SRC / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


compile_tna = load("compile_tna")


def code(path: Path) -> str:
    """The P4 text without its comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(), flags=re.S)


def declared(kind: str, path: Path) -> set[str]:
    return set(re.findall(rf"^\s*{kind} (\w+)", code(path), flags=re.M))


def names_of(folder: Path) -> set[str]:
    return {p.name for p in folder.glob("*.p4")}


def test_the_files_mirror_each_other() -> None:
    assert names_of(V1MODEL) - names_of(TNA) == SPLIT_BY_CHIP
    assert names_of(TNA) - names_of(V1MODEL) == FILES_OF_THE_CHIP


@pytest.mark.parametrize("file", sorted(names_of(V1MODEL)))
def test_every_control_has_its_mirror_in_the_file_of_the_same_name(file: str) -> None:
    stem = file.removesuffix(".p4")
    mirrors = [TNA / file] if file not in SPLIT_BY_CHIP else [TNA / f"{stem}_tofino{n}.p4" for n in (1, 2)]
    for mirror in mirrors:
        wanted = declared("control", V1MODEL / file) - CONTROLS_ELSEWHERE.keys()
        assert wanted <= declared("control", mirror), mirror.name


def test_the_parser_has_the_same_states() -> None:
    wanted = declared("state", V1MODEL / "parser.p4") - {"start", *STATES_ABSENT}
    assert wanted <= declared("state", TNA / "parser.p4")


def test_what_is_shared_is_said_once() -> None:
    text = "\n".join(code(p) for p in SHARED.glob("*.p4"))
    names = set(re.findall(r"^\s*(?:const \S+|#define|header) (\w+)", text, flags=re.M))
    assert len(names) > 30
    for path in TNA.glob("*.p4"):
        again = set(re.findall(r"^\s*(?:const \S+|#define|header) (\w+)", code(path), flags=re.M)) & names
        assert not again, f"{path.name} defines {again} anew"
        assert not re.search(r"\b(4791|49791|0xC5A1)\b", code(path)), path.name


def test_few_places_ask_which_chip_it_is() -> None:
    asking = {p.name for p in TNA.glob("*.p4") if "__TARGET_TOFINO__" in code(p)}
    assert asking == {"csaud.p4", "spray.p4", "deparser.p4"}


def test_the_documentation_names_every_difference() -> None:
    text = (ROOT / "docs" / "tofino.md").read_text()
    differences = set[str]().union(
        *TABLES_ABSENT.values(), *PARAMETERS_DIFFERENT.values(), *COUNTERS_ABSENT.values()
    )
    differences |= {"forward_alternative", "host_directed_above", "least_queue"}
    assert not {d for d in differences if f"`{d}`" not in text and f"`{d.split('.')[-1]}`" not in text}


def without_pipeline(name: str) -> str:
    return name.split(".", 1)[1]


def tables_of(schema: P4Schema) -> dict[str, P4Table]:
    return {without_pipeline(t.name): t for t in schema.tables if t.name.startswith("Csaud")}


def actions_of(table: P4Table) -> dict[str, list[tuple[str, int]]]:
    return {a.alias: [(p.name, p.bitwidth) for p in a.params] for a in table.actions if a.alias != "NoAction"}


def described(target: str) -> P4Schema:
    """The committed description of the program for `target`."""
    return P4Schema(compile_tna.ARTIFACTS / target / compile_tna.DESCRIPTION)


def recorded() -> dict[str, Any]:
    return json.loads((compile_tna.ARTIFACTS / "tna.digest.json").read_text())


def test_the_code_has_not_changed_since_it_was_described() -> None:
    assert compile_tna.source_digest() == recorded()["sources"], (
        "run `python p4src/compile_tna.py --describe` where p4c-barefoot is installed"
    )


def test_nobody_edited_the_descriptions() -> None:
    assert compile_tna.artifact_digests() == recorded()["artifacts"]


@pytest.mark.parametrize("target", compile_tna.TARGETS)
def test_tables_have_the_names_keys_and_actions_of_v1model(target: str) -> None:
    ours = tables_of(described(target))
    theirs = tables_of(P4Schema(P4SRC / "artifacts" / "csaud.p4info.txtpb"))
    assert theirs.keys() - ours.keys() == TABLES_ABSENT[target]
    assert not ours.keys() - theirs.keys()
    for name, table in ours.items():
        mirror = theirs[name]
        assert [(f.alias, f.bitwidth, f.match_type) for f in table.match_fields] == [
            (f.alias, f.bitwidth, f.match_type) for f in mirror.match_fields
        ], name
        missing, added = ACTIONS_DIFFERENT[target].get(name, (set(), set()))
        assert actions_of(mirror).keys() - actions_of(table).keys() == missing, name
        assert actions_of(table).keys() - actions_of(mirror).keys() == added, name
        for action in actions_of(table).keys() & actions_of(mirror).keys() - PARAMETERS_DIFFERENT[target]:
            assert actions_of(table)[action] == actions_of(mirror)[action], f"{name} {action}"


@pytest.mark.parametrize("target", compile_tna.TARGETS)
def test_counters_have_the_names_of_v1model(target: str) -> None:
    ours = {without_pipeline(c.name) for c in described(target).counters}
    theirs = {without_pipeline(c.name) for c in P4Schema(P4SRC / "artifacts" / "csaud.p4info.txtpb").counters}
    if target == "tofino":  # what is asked behind the queue there
        ours, theirs = {c.split(".")[-1] for c in ours}, {c.split(".")[-1] for c in theirs}
        assert theirs - ours == {c.split(".")[-1] for c in COUNTERS_ABSENT[target]}
    else:
        assert theirs - ours == COUNTERS_ABSENT[target]
    assert not ours - theirs


CLOCK = 1 << 32
"""Ticks until the chips' clock begins anew."""


def later(path: str, field: str) -> Any:
    """`field`, a time so much after `now`, as the program computes it."""
    [operator] = re.findall(rf"meta\.{field} = meta\.now (\S+) \w+;", code(TNA / path))
    return {
        "+": lambda now, ticks: (now + ticks) % CLOCK,
        "|+|": lambda now, ticks: min(now + ticks, CLOCK - 1),
    }[operator]


def test_a_flow_keeps_its_path_until_the_clock_begins_anew() -> None:
    expiry, gap = later("spray.p4", "expiry"), 2000
    assert "if (until < meta.now)" in code(TNA / "spray.p4")
    until, fresh = 0, 0
    for now in range(CLOCK - 4 * gap, CLOCK, 4):
        fresh += until < now
        until = expiry(now, gap)
    assert fresh == 1


@pytest.mark.parametrize("chip", [1, 2])
def test_alarms_keep_their_interval_until_the_clock_begins_anew(chip: int) -> None:
    due_at, interval = later(f"congestion_tofino{chip}.p4", "due"), 4000
    assert "if (next <= meta.now || next > meta.due)" in code(TNA / f"congestion_tofino{chip}.p4")
    following, raised = 0, 0
    for tick in range(CLOCK - 4 * interval, CLOCK + 2 * interval, 4):
        now = tick % CLOCK
        due = due_at(now, interval)
        if following <= now or following > due:
            following, raised = due, raised + 1
    assert raised == 6
