"""The key `transport` of an experiment: any of them runs the same files, and mistakes are named."""

from pathlib import Path

import numpy as np
import pytest
from csaud_sim._core import transports
from csaud_sim.cli import app
from csaud_sim.experiment.measure import measure
from csaud_sim.experiment.model import Experiment, load_experiment
from csaud_sim.experiment.sweep import tasks_of
from typer.testing import CliRunner

NAMES = [kind["name"] for kind in transports()]
DOCS = Path(__file__).parents[2] / "docs" / "evaluation.md"


def experiment(**keys: object) -> Experiment:
    return Experiment.model_validate(
        {"name": "test", "fabric": "leaf-spine-2x2", "link_rate": "100Gbit", "traffic": {}, **keys}
    )


@pytest.mark.parametrize("name", NAMES)
def test_flows_and_collectives_are_over_whatever_is_lost(name: str) -> None:
    """And the same experiment gives the same figures."""
    asked = experiment(
        transport=name,
        link_delay="500ns",
        traffic={"load": 0.5, "flows": 150},
        collectives={"bytes": 400_000, "repeats": 3},
        faults=[{"where": "uplinks", "probability": 0.01, "kinds": ["data"]}],
    )
    found, again = measure(asked), measure(asked)
    assert found.totals["unfinished"] == 0 and found.totals["collectives"] == 3
    assert found.totals["injected"] > 0 or name.endswith("pfc")
    np.testing.assert_array_equal(found.flows["fct_ns"], again.flows["fct_ns"])
    sent = {key: value for key, value in found.totals.items() if key not in ("setup_s", "run_s")}
    assert sent == {key: again.totals[key] for key in sent}
    assert found.flows["slowdown"].min() > 0.98


@pytest.mark.parametrize("name", NAMES)
def test_every_transport_and_parameter_is_documented(name: str) -> None:
    text = DOCS.read_text()
    (kind,) = (each for each in transports() if each["name"] == name)
    assert f"`{name}`" in text
    for parameter in kind["parameters"]:
        assert f"`{parameter['name']}`" in text, parameter["name"]


def test_a_sweep_compares_transports(tmp_path: Path) -> None:
    path = tmp_path / "both.yaml"
    path.write_text(
        "name: both\nfabric: leaf-spine-2x2\ntraffic: {flows: 5}\ntransport: {name: rc, timeout: 2ms}\n"
        "sweep: {vary: {transport.timeout: [100us, 1ms]}, "
        "settings: {rc: {}, windowed: {transport.window: 100000}}}\n"
    )
    tasks = tasks_of(load_experiment(path))
    assert [task.experiment.transport.value("timeout") for task in tasks] == [1e5, 1e6, 1e5, 1e6]
    assert [task.experiment.transport.value("window") for task in tasks] == [0, 0, 1e5, 1e5]
    assert len({task.experiment.digest for task in tasks}) == 4
    tasks = tasks_of(load_experiment(path, {"sweep": "{settings: {ours: {transport: csa-ud}, rc: {}}}"}))
    assert [task.experiment.transport.name for task in tasks] == ["csa-ud", "rc"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("transport: tcp", "transport.name: expected one of csa-ud, rc"),
        ("transport: {name: tcp}", "transport.name: expected one of csa-ud, rc"),
        (
            "transport: {name: rc, windows: 3}",
            "transport.windows: rc has no such parameter; expected one of mtu",
        ),
        ("transport: {name: rc, timeout: soon}", "transport.timeout: expected a duration"),
        ("transport: {name: rc, spray: sideways}", "transport.spray: expected one of ecmp"),
        ("transport: {name: rc, mtu: 4.5}", "transport.mtu: expected whole bytes, got 4.5"),
        ("transport: {name: rc, mtu: 1}", "transport.mtu: expected 64 to"),
        ("transport: {name: csa-ud, mtu: 1}", "transport.mtu: csa-ud has no such parameter; it has none"),
        ("oracle: true\ntransport: rc", "oracle: not with the transport rc"),
    ],
)
def test_mistakes_are_told_with_line_and_key(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(f"name: wrong\nfabric: leaf-spine-2x2\ntraffic: {{}}\n{line}\n")
    done = CliRunner().invoke(app, ["run", str(path), "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert f"wrong.yaml:4: {told}" in " ".join(done.output.split())
    assert not (tmp_path / "out").exists()
