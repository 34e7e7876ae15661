"""The committed artifacts are what p4c made of the committed sources."""

import importlib.util
import json
from pathlib import Path

import pytest

P4SRC = Path(__file__).resolve().parents[2] / "p4src"
spec = importlib.util.spec_from_file_location("p4src_compile", P4SRC / "compile.py")
assert spec is not None and spec.loader is not None
p4src_compile = importlib.util.module_from_spec(spec)
spec.loader.exec_module(p4src_compile)


def recorded() -> dict:
    return json.loads((P4SRC / "artifacts" / "csaud.digest.json").read_text())


def test_the_sources_have_not_changed_since_they_were_compiled() -> None:
    assert p4src_compile.source_digest() == recorded()["sources"], "run `make p4` where p4c is installed"


def test_nobody_edited_the_artifacts() -> None:
    assert p4src_compile.artifact_digests(P4SRC / "artifacts") == recorded()["artifacts"]


def test_every_table_has_a_direct_counter_and_a_const_default() -> None:
    program = json.loads((P4SRC / "artifacts" / "csaud.json").read_text())
    tables = [t for p in program["pipelines"] for t in p["tables"] if not t["name"].startswith("tbl_")]
    named = [t for t in tables if t["key"]]
    assert {t["name"].split(".")[-1] for t in named} == {
        "ether_type", "ipv4_lpm", "ipv6_lpm", "policy", "buckets", "paths", "alternative", "inject", "limits",
        "alarm", "marking", "signal", "return_limits", "queues", "ports", "sources", "sources6", "classes",
    }  # fmt: skip
    for table in named:
        assert table["with_counters"], table["name"]
        if table["type"] == "simple":  # tables with an action profile have no default action on this target
            assert table["default_entry"]["action_const"], table["name"]


@pytest.mark.p4c
def test_p4c_makes_the_same_again(tmp_path: Path) -> None:
    p4src_compile.compile_into(tmp_path)
    assert p4src_compile.artifact_digests(tmp_path) == recorded()["artifacts"]
