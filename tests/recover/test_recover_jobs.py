"""Workers killed in the middle of whatever they do: those that are left end with the weights and momenta of a
run without deaths, bit by bit."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

import csaud
import numpy as np
import pytest
from csaud.recover import start

from tests.hostlib.jobs import PATIENCE
from tests.recover.jobs import Workers
from tests.support.signals import heeds_signals

TASK = {"microbatches": 6, "steps": 4}
SAMPLES = {(step, number) for step in range(TASK["steps"]) for number in range(TASK["microbatches"])}


@pytest.fixture(scope="module")
def undisturbed() -> str:
    """Weights and momenta of one worker that does all the work."""
    with Workers(1, TASK) as job:
        return job.trained(set())[0]["state"]


HALF = [
    # one after the other; the second one while the others recover from the first one's death
    {3: {"phase": "reduce", "step": 1}, 0: {"phase": "settle", "times": 2}},
    {0: {"phase": "gather", "step": 1}, 3: {"phase": "optimizer", "step": 2}},
    {1: {"phase": "forward", "step": 1}, 2: {"phase": "shrink"}},
    {2: {"phase": "backward", "step": 1}, 3: {"phase": "commit", "step": 2}},
]


@pytest.mark.parametrize(
    "deaths",
    [
        pytest.param(deaths, marks=[] if place == 0 else pytest.mark.thorough)
        for place, deaths in enumerate(HALF)
    ],
    ids=lambda deaths: ", ".join(f"{rank} in {where['phase']}" for rank, where in deaths.items()),
)
def test_half_of_the_workers_die(deaths, undisturbed) -> None:
    with Workers(4, TASK, deaths) as job:
        ends = job.trained(set(deaths))
        assert [end["state"] for end in ends] == [undisturbed] * 2
        assert [(end["rank"], end["size"]) for end in ends] == [(0, 2), (1, 2)]
        computed = job.computed()
    assert set.union(*computed) == SAMPLES
    living = [samples for rank, samples in enumerate(computed) if rank not in deaths]
    assert not set.intersection(*living)


def test_a_newcomer_takes_a_dead_workers_place(undisturbed) -> None:
    own = {0: {"newcomer_at": 2}, 1: {"phase": "backward", "step": 1}}
    with Workers(3, TASK, own) as job:
        job.workers[0].wait_for("waits")
        newcomer = job.newcomer()
        ends = job.trained({1})
        assert [end["state"] for end in ends] == [undisturbed] * 3
        assert {end["size"] for end in ends} == {3}
        assert newcomer.wait_for("step") == {"event": "step", "step": 3, "rank": 2, "size": 3}
        assert set.union(*job.computed()) == SAMPLES


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(1, 6))
def test_in_any_order_the_weights_are_those_within_the_noise_of_rounding(seed) -> None:
    deaths = HALF[(0, 2, 3)[seed % 3]]  # one all-reduce has no phase "gather"
    task = {**TASK, "seed": seed}
    with Workers(1, task) as job:
        undisturbed = job.trained(set())[0]["state"]
    with Workers(4, {**task, "in_order": False}, deaths) as job:
        ends = job.trained(set(deaths))
    assert ends[0]["state"] == ends[1]["state"]
    found, expected = (np.frombuffer(bytes.fromhex(s), "f4") for s in (ends[0]["state"], undisturbed))
    assert np.abs(found - expected).max() <= 1e-6 * np.abs(expected).max()  # about 8 roundings


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({"microbatches": 5}, "microbatches must be the same at every rank: 6 at {}, 5 at {}"),
        pytest.param(
            {"bucket_bytes": 1 << 20}, "bucket_bytes must be the same at every rank: 64 at {}, 1048576 at {}",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            {"in_order": False}, "in_order must be the same at every rank: True at {}, False at {}",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            {"dtype": "float64"},
            "parameter 0 must be the same at every rank: float32 (57, 3) at {}, float64 (57, 3) at {}",
            marks=pytest.mark.thorough,
        ),
    ],
    ids=str,
)  # fmt: skip
def test_other_arguments_are_named_and_a_newcomer_that_has_them_leaves_alone(own, words, undisturbed) -> None:
    with Workers(2, TASK, {1: own}) as job:
        ends = [worker.wait_for("end") for worker in job.workers]
        told = f"recover: {words.format('rank 0', 'rank 1')}"
        assert [(end["error"], end["message"]) for end in ends] == [("ConfigError", told)] * 2
    with Workers(2, TASK, {0: {"newcomer_at": 2}}) as job:
        job.workers[0].wait_for("waits")
        end = job.newcomer(**own).wait_for("end")
        refused = f"recover: {words.format('this job', 'the newcomer')}"
        assert (end["error"], end["message"]) == ("ConfigError", refused)
        job.workers.pop().close()
        assert [end["state"] for end in job.trained(set())] == [undisturbed] * 2


def test_mistakes_are_named() -> None:
    weights = np.zeros(3, np.float32)
    for call, words in (
        (lambda: start(0, [weights]), "recover: microbatches=0: expected 1 or more"),
        (lambda: start(2.5, [weights]), "recover: microbatches=2.5: expected 1 or more"),  # type: ignore[arg-type]
        (lambda: start(2, []), "recover: there are no parameters to train"),
        (lambda: start(2, [[1.0]]), "recover: parameters and state are arrays of numpy that can be written"),
        (
            lambda: start(2, [weights], doors="@/nowhere"),
            "recover: doors '@/nowhere': No such file or directory",
        ),
        (lambda: leave(weights), "recover: step 0 was left before its last microbatch"),
        (
            lambda: add(weights, [weights[:2]]),
            "recover: gradients of shapes [(2,)], parameters have [(3,)]",
        ),
        (lambda: add(weights), "recover: microbatch 0 was not added to its step"),
        (
            lambda: late(weights),
            "recover: add() belongs into the loop over a step's microbatches, once in each",
        ),
        (lambda: again(weights), "recover: step 0 has had its microbatches"),
    ):
        with pytest.raises(csaud.ConfigError) as raised:
            call()
        assert str(raised.value) == words


def leave(weights: np.ndarray) -> None:
    with start(2, [weights], environ={}) as job:
        for step in job.steps(2):
            next(iter(step))


def late(weights: np.ndarray) -> None:
    with start(2, [weights], environ={}) as job:
        for step in job.steps(2):
            for _ in step:
                break
            step.add([weights])


def again(weights: np.ndarray) -> None:
    with start(2, [weights], environ={}) as job:
        for step in job.steps(2):
            for _ in range(2):
                for _ in step:
                    step.add([weights])


def add(weights: np.ndarray, gradients: list[np.ndarray] | None = None) -> None:
    with start(2, [weights], environ={}) as job:
        for step in job.steps(2):
            for _ in step:
                if gradients is not None:
                    step.add(gradients)


def test_the_launcher_says_what_became_of_workers(tmp_path) -> None:
    def launched(*command: str) -> subprocess.CompletedProcess[str]:
        launcher = [sys.executable, "-m", "csaud", "recover", "-n", "2", "--", *command]
        return subprocess.run(launcher, capture_output=True, text=True, check=False)

    done = launched("sh", "-c", "test $RANK = 0 || kill -9 $$")
    assert (done.returncode, done.stdout) == (0, "[worker 1] killed by SIGKILL\n")
    done = launched("sh", "-c", "test $RANK = 0 || kill -35 $$")  # of real time, which has no name
    assert (done.returncode, done.stdout) == (0, "[worker 1] killed by signal 35\n"), done.stderr
    done = launched("sh", "-c", "exit 3")
    assert (done.returncode, done.stderr) == (1, "csaud recover: no worker came to the end of the job\n")
    assert sorted(done.stdout.splitlines()) == [
        f"[worker {rank}] ended with exit status 3" for rank in (0, 1)
    ]
    done = launched(str(tmp_path / "nothing"))
    assert done.returncode == 2 and done.stderr.endswith("nothing: No such file or directory\n")


WORKER = """
cd {folder}
if [ "$CSAUD_RECOVER_JOIN" = @$CSAUD_RECOVER_DOORS ]; then echo joins; {ends}; fi
if [ $RANK = 1 ]; then read line < there; {ends}; fi
echo 127.0.0.1:1 > $CSAUD_RECOVER_DOORS
echo > there
read line < go
"""


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ("kill -9 $$", ["2] joins", "3] joins", *(f"{name}] killed by SIGKILL" for name in (1, 2, 3))]),
        ("exit 1", ["1] ended with exit status 1"]),
    ],
    ids=["killed", "ended"],
)
def test_workers_that_were_killed_are_started_again_as_often_as_was_said(tmp_path, ends, said) -> None:
    """Worker 1 and whoever takes its place end when a member has left its door; worker 0 ends last."""
    for name in ("there", "go"):
        os.mkfifo(tmp_path / name)
    go = os.open(tmp_path / "go", os.O_RDWR)
    words = [
        "recover",
        "-n",
        "2",
        "--returns",
        "2",
        "--",
        "sh",
        "-c",
        WORKER.format(folder=tmp_path, ends=ends),
    ]
    with launcher(words) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in said]
        os.write(go, b"\n")
        rest, errors = process.communicate(timeout=PATIENCE)
    os.close(go)
    assert sorted(lines) == sorted(f"[worker {line}\n" for line in said)
    assert (rest, errors, process.returncode) == ("", "", 0)


@pytest.mark.parametrize("hears", ["", "trap '' TERM; "], ids=["at once", "by force"])
@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)],
    ids=["SIGTERM", "SIGHUP", "Ctrl-C"],
)
def test_no_worker_and_no_file_outlives_the_launcher(tmp_path, number, status, hears) -> None:
    """Each worker has a pipe open, which has an end when all have ended."""
    end, inherited = os.pipe()
    os.mkfifo(tmp_path / "for_ever")
    for_ever = os.open(tmp_path / "for_ever", os.O_RDWR)
    script = f"{hears}echo up >&2; exec cat {tmp_path}/for_ever > /proc/{os.getpid()}/fd/{inherited}"
    with launcher(["recover", "-n", "2", "--", "sh", "-c", script], TMPDIR=str(tmp_path)) as process:
        assert process.stderr is not None
        assert sorted(process.stderr.readline() for _ in range(2)) == ["[worker 0] up\n", "[worker 1] up\n"]
        process.send_signal(number)
        rest, errors = process.communicate(timeout=PATIENCE)
    os.close(inherited)
    ready, _, _ = select.select([end], [], [], PATIENCE)
    assert ready and os.read(end, 1) == b""
    for each in (end, for_ever):
        os.close(each)
    assert (rest, errors, process.returncode) == ("", "", status)
    assert [entry.name for entry in tmp_path.iterdir()] == ["for_ever"]


def launcher(words: list[str], **environ: str) -> subprocess.Popen[str]:
    code = "from csaud.cli import main, workers; workers._END_WITHIN = 0.05; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        env={**os.environ, **environ}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=heeds_signals,
    )  # fmt: skip


def test_a_file_for_doors_that_cannot_be_written_does_not_end_the_job(tmp_path, monkeypatch, caplog) -> None:
    """It would end the others, too, each in its turn as rank 0."""
    weights = np.zeros(3, np.float32)
    monkeypatch.setenv("CSAUD_RECOVER_DOORS", str(tmp_path / "missing" / "doors"))
    with pytest.raises(csaud.ConfigError) as raised:
        add(weights, [weights])
    path = tmp_path / "missing" / "doors"
    assert str(raised.value) == f"recover: doors: {path}: there is no such folder"
    monkeypatch.setenv("CSAUD_RECOVER_DOORS", str(tmp_path / "full"))
    (tmp_path / "full").mkdir()
    add(weights, [weights])
    assert f"newcomers will not find this job: {tmp_path / 'full'}: Is a directory" in caplog.text
    assert [entry.name for entry in tmp_path.iterdir()] == ["full"]
