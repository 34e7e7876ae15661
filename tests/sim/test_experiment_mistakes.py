"""Experiments that cannot be run: each mistake by file, line and key, before anything is run."""

import re
import sys
from pathlib import Path

import csaud_sim
import pytest
from csaud_controller.base.yamlfile import ConfigError, FieldError
from csaud_sim.cli import app
from csaud_sim.experiment.model import load_experiment
from csaud_sim.experiment.sweep import tasks_of
from typer.testing import CliRunner


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("traffic: {load: 2}", "traffic.load"),
        ("traffic: {sizes: Websearch}", "traffic.sizes"),
        ("traffic: {}\nhost: {mode: udp}", "host.mode"),
        ("traffic: {}\ncore: {windows: 3}", "core.windows"),
        ("traffic: {}\npolicy: {limits: {trim_at: 5000}}", "policy"),
        ("traffic: {pattern: incast, senders: 4}", "traffic.senders"),
        ("collectives: {bytes: 1000, operation: all_reduce.star}", "collectives.operation"),
        ("collectives: {bytes: 1000, ranks: 9}", "collectives.ranks"),
        ("collectives: {bytes: 1000, skew: 1}", "collectives.skew: of all_to_all.pairwise alone"),
        ("collectives: {bytes: 1000, repeats: 2, warmup: 2}", "collectives.warmup"),
        ("traffic: {}\nlinks: [{where: s9, rate: 1Gbit}]", "links[0].where"),
        ("traffic: {}\nlinks: [{where: s1}]", "links[0]"),
        ("traffic: {}\nimpairments: [{where: l1-s9, loss: 0.1}]", "impairments[0].where"),
        ("traffic: {}\nimpairments: [{loss: 0.9, burst: 4}]", "impairments[0].burst"),
        ("traffic: {}\nimpairments: [{loss: 0.9, classes: [7]}]", "impairments[0].classes"),
        ("traffic: {}\nimpairments: [{where: all}]", "impairments[0]"),
        ("traffic: {}\noracle: true", "oracle"),
        (
            "transport: ndp\ntraffic: {receive_delay: 9us}",
            "traffic.receive_delay: not with the transport ndp",
        ),
        ("transport: ndp\ntraffic: {}\nclocks: {drift: 5}", "clocks: not with the transport ndp"),
        ("traffic: {}\nclocks: {drift: 5000}", "clocks.drift: expected less than or equal to 1000"),
        ("traffic: {}\nsweep: {seeds: 0}", "sweep.seeds: expected greater than or equal to 1"),
        ("traffic: {}\nsweep: {seeds: [1, -1]}", "sweep.seeds[1]: expected greater than or equal to 0"),
        ("traffic: {}\nsweep: {vary: {traffic.load: []}}", "sweep.vary.traffic.load: expected at least 1"),
        ("traffic: {}\nfaults: [{where: nowhere, probability: 0.1}]", "faults[0].where: unknown place"),
        (
            "traffic: {}\nsweep: {settings: {good: {}, bad: {faults: [{where: nowhere, probability: 0.1}]}}}",
            "sweep.settings.bad.faults: faults[0].where: unknown place 'nowhere'",
        ),
        (
            "traffic: {}\nsweep: {settings: {bad: {policy.spray: sideways}}}",
            "sweep.settings.bad.policy.spray: policy.spray=sideways: ",
        ),
        ("traffic: {}\nsweep: {cases: {bad: {link_rte: 1}}}", "sweep.cases.bad.link_rte: link_rte: "),
        (
            "traffic: {}\nsweep: {vary: {fabric: [leaf-spine-2x2, leaf-spine-1]}}",
            "sweep.vary.fabric[1]: leaf-spine-1: no such fabric",
        ),
        (
            "collectives: {bytes: 1000}\nsweep: {vary: {collectives.ranks: [2, 9]}}",
            "sweep.vary.collectives.ranks[1]: collectives.ranks: expected at most",
        ),
        ("traffic: {}\nsweep: {vary: {seed: [1, 2]}}", "sweep.vary.seed: expected sweep.seeds"),
        ("traffic: {}\nsweep: {settings: {a: {name: b}}}", "sweep.settings.a.name: expected a key of what"),
        (
            "traffic: {}\nsweep: {cases: {a: {sweep.seeds: 2}}}",
            "sweep.cases.a.sweep.seeds: expected a key",
        ),
        ("traffic: {}\nlink_rate: 9999999Tbit", "link_rate: expected less than or equal to"),
        (
            "traffic: {}\nlinks: [{where: s1, rate: 9999999Tbit}]",
            "links[0].rate: expected less than or equal",
        ),
        ("traffic: {sizes: 10000000000000}", "traffic.sizes: expected 1 to 1099511627776 bytes"),
        ("traffic: {sizes: [[0, 0], [9, .nan], [20, 100]]}", "traffic.sizes: expected growing bytes"),
        (
            "traffic: {sizes: [[-5, 0], [20, 100]]}",
            "traffic.sizes: expected 0 to 1099511627776 bytes, got -5",
        ),
        ("traffic: {load: 1.0e-300}", "traffic.load: 10000 flows would take"),
        ("link_rate: null\ntraffic: {to: h1}", "traffic.to: of the pattern incast alone, here it is random"),
        ("traffic: {senders: 3, pattern: matching}", "traffic.senders: of the pattern incast alone"),
        ("traffic: {matching: 3}", "traffic.matching: of the pattern matching alone"),
        ("traffic: {}\ntime_limit: 10000000000s", "time_limit: expected at most 1000000s"),
        ("traffic: {}\nlinks: [{where: s1, delay: 10000000s}]", "links[0].delay: expected at most 1000000s"),
        ("traffic: {}\nimpairments: [{jitter: 10000000s}]", "impairments[0].jitter: expected at most"),
        ("traffic: {}\nbuffer: 100000000000", "buffer: expected less than or equal to 2147483647"),
        ("collectives: {bytes: 100000000000000000}", "collectives.bytes: expected less than or equal to"),
        (
            "collectives: {bytes: 4, repeats: 100000000000}",
            "collectives.repeats: expected less than or equal",
        ),
        ("traffic: {}\ncore: {fixed_interval: -5}", "core.fixed_interval: expected 0 or more, got -5"),
        ("traffic: {}\ncore: {detect_gap: 3}", "core.detect_gap: expected true or false, got 3"),
        ("traffic: {}\ncore: {rank: 7}", "core.rank: each host has its own"),
        ("traffic: {}\ncore: {path_mtu: 10}", "core.path_mtu: expected 33 to 8192 bytes"),
        ("traffic: {}\ncore: {window: 0}", "core.window: expected 1 to 8192 packets"),
        ("traffic: {}\ntransport: {name: rc, window: .inf}", "transport.window: expected a number of bytes"),
        ("traffic: {}\ntransport: {name: uec, paths: 100}", "transport.paths: expected a power of two"),
        (
            "traffic: {}\ntransport: {name: dcqcn, kmax: 50000}",
            "transport.kmin: expected at most kmax, 50,000 bytes, got 100,000",
        ),
        ("traffic: {}\nsweep: {seeds: [3, 1, 3]}", "sweep.seeds: expected each seed once, got 3 twice"),
        ("traffic: {}\nsweep: {seeds: [0, 0]}", "sweep.seeds: expected each seed once, got 0 twice"),
        ("traffic: {}\nsweep: {seeds: 100000000000}", "sweep.seeds: expected less than or equal to 100000"),
        ("seed: 4294967295\ntraffic: {}\nsweep: {seeds: 2}", "sweep.seeds: expected at most 1 seeds from"),
        (
            "traffic: {}\nsweep: {vary: {traffic.load: [0.5, 0.5]}}",
            "sweep.vary: expected every combination once, got load=0.5 twice",
        ),
        (
            "traffic: {}\nsweep: {settings: {'a!': {}, 'a?': {}}}",
            "sweep: a! and a? are the same, by names too much alike",
        ),
        ("traffic: {}\nsweep: {settings: {'a: b': {}}}", "sweep.settings.a: b: expected a name without ': '"),
    ],
)
def test_mistakes_are_told_with_line_and_key(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(f"name: wrong\nfabric: leaf-spine-2x2\n{line}\n")
    done = CliRunner().invoke(app, ["run", str(path), "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert f"wrong.yaml:{2 + len(line.splitlines())}: {told}" in done.output
    assert not (tmp_path / "out").exists()


def test_a_name_that_leads_elsewhere_is_refused(file: Path) -> None:
    """Its runs would lie beside build/sim."""
    file.write_text(file.read_text().replace("two-sprays", ".."))
    done = CliRunner().invoke(app, ["run", str(file)])
    assert done.exit_code == 2 and done.output.startswith(f"csaud: {file}:1: name: ")


def test_a_seed_beside_a_list_of_seeds_is_refused(file: Path, tmp_path: Path) -> None:
    """It would be of no run."""
    asked = ["run", str(file), "--set", "sweep.seeds=[7, 8]", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, [*asked, "--seed", "5"])
    assert done.exit_code == 2
    assert done.output.startswith("csaud: --seed 5: sweep.seeds names every seed: expected --set sweep.seeds")
    assert not (tmp_path / "out").exists()


def test_a_fabric_that_is_none_is_told_with_line_and_key(file: Path, tmp_path: Path) -> None:
    file.write_text(file.read_text().replace("leaf-spine-2x2", "leaf-spine-2"))
    done = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert done.output.startswith(f"csaud: {file}:2: fabric: leaf-spine-2: no such fabric: expected a name")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("what", ["experiment", "scenario"])
def test_what_is_no_folder_to_write_into_is_told_before_anything_is_run(
    file: Path, tmp_path: Path, what: str
) -> None:
    (taken := tmp_path / "taken").write_text("of somebody")
    for out in (taken, Path("/dev/full")):
        named = str(file) if what == "experiment" else "plain"
        done = CliRunner().invoke(app, ["run", named, "--out", str(out), "--jobs", "0"])
        assert done.exit_code == 2
        assert f"csaud: {out}" in done.output and done.output.count("\n") <= 2
        assert "expected a folder" in done.output and not isinstance(done.exception, OSError)
    assert taken.read_text() == "of somebody"


def test_a_file_that_is_no_text_is_told_in_one_line(tmp_path: Path) -> None:
    (path := tmp_path / "latin.yaml").write_bytes("about: für\n".encode("latin-1"))
    done = CliRunner().invoke(app, ["run", str(path)])
    assert done.exit_code == 2
    assert done.output.startswith(f"csaud: {path}: cannot be read: ") and "utf-8" in done.output


@pytest.mark.parametrize(
    ("module", "told"),
    [
        ("pyarrow", "pyarrow is not installed: pip install 'csaud[sim]'"),
        ("csaud_sim._core", "the simulator has not been compiled here: make sim does it"),
    ],
)
def test_what_is_missing_is_named_in_one_line(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, told: str
) -> None:
    for name in [name for name in sys.modules if re.match(r"csaud_sim\.(?!cli$|_core$)", name)]:
        monkeypatch.delitem(sys.modules, name)
        if name.count(".") == 1:  # what is imported now takes its place in the package, too
            last = name.partition(".")[2]
            monkeypatch.setattr(csaud_sim, last, getattr(csaud_sim, last))
    monkeypatch.setitem(sys.modules, module, None)
    done = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert done.output == f"csaud: {told}\n"


def test_a_setting_that_does_not_fit_is_named(file: Path) -> None:
    with pytest.raises(FieldError, match=r"policy.spray=sideways: .*expected"):
        tasks_of(load_experiment(file, {"sweep.settings": "{wrong: {policy.spray: sideways}}"}))
    with pytest.raises(ConfigError):
        load_experiment(file.with_name("nowhere.yaml"))
