"""The comparison of sparse averages: what is made of its runs, and that each is trained once."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from csaud.scape.exchange import Traffic, lockstep

from bench.scape import rows_of_bytes, rows_of_losses, rows_of_steps
from bench.scape_fabric import METHODS as METHODS_OF_THE_FABRIC
from bench.scape_fabric import Steps
from bench.scape_plan import METHODS as METHODS_OF_THE_PLAN
from bench.scape_plan import Effort, Kept, Swept, sweep
from bench.scape_runs import Trained
from bench.scape_worker import method_of
from bench.training_figures import losses

pytestmark = pytest.mark.torch


def swept(losses: dict[float, list[float]], sent: float) -> Swept:
    return Swept(losses, [Trained([(100, 2.0)], sent)])


METHODS = {
    "AdamS, dense": swept({0.1: [2.5, 2.6], 0.2: [2.0, 2.2], 0.4: [2.4, 2.6]}, 800.0),
    "SCAPE, 90 %": swept({0.1: [2.1, 2.15], 0.2: [2.2, 2.4]}, 90.0),
    "SCAPE, 99 %": swept({0.1: [2.5, 2.6]}, 25.0),
}


def test_losses_are_those_of_the_best_learning_rate_and_a_gap_beyond_noise_is_missed() -> None:
    rows = {row.name: row for row in rows_of_losses(METHODS, {"half": swept({0.1: [2.1, 2.1]}, 50.0)})}
    assert rows["loss: AdamS, dense"].value == pytest.approx(2.1)
    at = rows["loss: AdamS, dense"].at
    assert (at["lr"], at["losses"], at["edge"]) == (0.2, [2.0, 2.2], False)
    assert rows["loss: SCAPE, 90 %"].at["edge"] is True
    gaps = [row for name, row in rows.items() if "above dense" in name]
    assert [row.value for row in gaps] == pytest.approx([0.025, 0.45])
    assert [row.holds for row in gaps] == [True, False]
    assert rows["loss: SCAPE, 90 %, but half"].peer_value == pytest.approx(2.1)


def test_bytes_and_steps_are_beside_those_of_dense_training() -> None:
    rows = {row.name: row for row in rows_of_bytes(METHODS)}
    assert rows["bytes a step: SCAPE, 90 %"].holds is True  # 8.9 times fewer
    assert rows["bytes a step: SCAPE, 99 %"].holds is False  # 32 times
    found = {name: Steps([2.0, 1.0, 0.5], 1.0, 10.0) for name in METHODS_OF_THE_FABRIC}
    found |= {"alone": Steps([0.4], 1.0, 10.0), "0.1": Steps([1.8, 0.55, 0.1], 1.0, 2.0)}
    rows = {row.name: row for row in rows_of_steps(found)}
    half = rows["step, communication 50% of a dense one: SCAPE, 90 %"]
    assert (half.ratio, half.holds) == (pytest.approx(0.55), True)
    assert rows["packets a step, counted by switches: SCAPE, 90 %"].ratio == pytest.approx(0.2)


def test_losses_are_drawn_against_letters_and_against_seconds_in_the_fabric() -> None:
    curved = {
        name: Swept(
            {0.1: [2.0, 2.2]}, [Trained([(2560, nats), (5120, nats - 1)], 1.0) for nats in (3.0, 3.5)]
        )
        for name in ("AdamS, dense", "SCAPE, 90 %", "AdamW, dense")
    }
    steps = {name: Steps([2.0, 1.0, 0.5], 1.0, 10.0) for name in METHODS_OF_THE_FABRIC}
    steps |= {"alone": Steps([0.4], 1.0, 10.0), "0.1": Steps([1.8, 0.6, 0.1], 1.0, 2.0)}
    learnt = rows_of_losses(curved, {})
    drawn = losses([*learnt, *rows_of_steps(steps)])
    assert drawn is not None
    assert list(drawn.columns["method"]) == ["AdamS, dense"] * 2 + ["SCAPE, 90 %"] * 2  # AdamW has no steps
    assert list(drawn.columns["letters"]) == [2560, 5120] * 2
    assert list(drawn.columns["step"]) == [10, 20] * 2  # 4 ranks, 2 pieces of 32 letters
    assert list(drawn.columns["loss, nats a letter"]) == [3.25, 2.25] * 2
    halves = "seconds, communication 50% of a dense step"
    assert list(drawn.columns[halves]) == pytest.approx([10, 20, 6, 12])
    assert "SCAPE, 90 %" in drawn.inline() and halves in drawn.inline()
    alone = losses(learnt)
    assert alone is not None and "AdamW, dense" in alone.columns["method"]
    assert list(alone.columns) == ["method", "step", "letters", "loss, nats a letter"]
    assert losses([]) is None


def test_every_method_of_the_fabric_is_one_that_was_trained_and_can_be_measured() -> None:
    assert set(METHODS_OF_THE_FABRIC.values()) <= set(METHODS_OF_THE_PLAN)
    gradient, sent = np.ones(1000, np.float32), {}
    for name in METHODS_OF_THE_FABRIC:
        traffic = Traffic()
        lockstep([method_of(name, 1000, rank, 2).step(gradient, 1e-3) for rank in range(2)], traffic)
        sent[name] = traffic.total
    assert sent["dense"] == 4000 and all(0 < each < 2000 for name, each in sent.items() if name != "dense")
    assert (sent["chance 0.1"], sent["top-k 0.1"]) == (400, 800)  # which has an index beside each value


def test_a_run_is_trained_once_and_a_sweep_goes_on_where_its_best_is_an_edge(tmp_path, monkeypatch) -> None:
    kept = Kept(tmp_path, 4)
    one = sweep(kept, Effort(4, 1, 0, 1), "SCAPE, 90 %", 1)
    assert len(one.losses) == 4 and one.runs[0].sent > 0  # the highest learning rate is best in 4 steps
    assert one.runs[0].curve[-1][0] == 4 * 4 * 2 * 32

    def again(*_: object) -> Trained:
        raise AssertionError("trained again")

    monkeypatch.setattr("bench.scape_plan.train", again)
    assert sweep(kept, Effort(4, 1, 0, 1), "SCAPE, 90 %", 1) == one


def test_a_damaged_run_and_one_of_another_definition_are_trained_again(tmp_path, monkeypatch) -> None:
    trained: list[float] = []

    def train(make: object, model: object, text: object, steps: int, lr: float, seed: int) -> Trained:
        trained.append(lr)
        return Trained([(seed, lr)], 1.0)

    monkeypatch.setattr("bench.scape_plan.train", train)
    kept, make = Kept(tmp_path, 4), METHODS_OF_THE_PLAN["SCAPE, 90 %"][0]
    one = kept.run("SCAPE, 90 %", make, 0.1, 7)
    assert kept.run("SCAPE, 90 %", make, 0.1, 7) == one and trained == [0.1]
    [path] = tmp_path.iterdir()
    path.write_text(path.read_text()[:20])
    assert kept.run("SCAPE, 90 %", make, 0.1, 7) == one and trained == [0.1] * 2
    monkeypatch.setattr("bench.scape_plan.definition", lambda: "another")
    assert kept.run("SCAPE, 90 %", make, 0.1, 7) == one and trained == [0.1] * 3
    assert len(list(tmp_path.iterdir())) == 2
