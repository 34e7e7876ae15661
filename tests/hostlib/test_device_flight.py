"""What a job says that hangs: timeouts of handles, warnings, flight records, and what puts those together."""

import json
import signal
import time
from pathlib import Path

from typer.testing import CliRunner

from tests.hostlib.jobs import PATIENCE, Job

SUM = ["all_reduce", 1000, "float32", "sum"]
ASLEEP = ["sleep", 0, "int8", ""]


def report(folder: Path, *options: str) -> str:
    from csaud.cli.command import app

    result = CliRunner().invoke(app, ["flight", str(folder), *options])
    assert result.exit_code == 0, result.output
    return result.output


def written(folder: Path, count: int) -> list[Path]:
    """So many records, once they are there."""
    until = time.monotonic() + PATIENCE
    while len(files := sorted(folder.glob("epoch-*-rank-*.json"))) < count:
        assert time.monotonic() < until, f"only {files}"
    return files


def test_a_handle_that_nobody_waits_for_ends_the_job_when_its_time_is_over(tmp_path: Path) -> None:
    """Rank 1 never calls the second one; the error says who waits for whom, and the records who lags."""
    ranks = [[SUM, SUM], [SUM, ASLEEP, SUM], [SUM, SUM]]
    settings = {"timeout": 2.0, "flight_dir": str(tmp_path)}
    with Job(3, "calls", {"ranks": ranks, "handles": True, "listens": True, "settings": settings}) as job:
        job.workers[1].wait_for("asleep")
        for rank in (0, 2):
            job.workers[rank].wait_for("called")
        # Nobody waits: the watchdogs end it, and rank 1 is asked by a signal.
        written(tmp_path, 2)
        job.workers[1].kill(signal.SIGUSR1)
        written(tmp_path, 3)
        output, found = report(tmp_path), json.loads(report(tmp_path, "--json"))
        for worker in (*job.workers, job.workers[1]):
            worker.send_line("")
        ends = job.ends()
    errors = {end["error"] for end in ends}
    assert "Timeout" in errors and errors <= {"Timeout", "Aborted"}, ends
    late, text = next((rank, end["message"]) for rank, end in enumerate(ends) if end["error"] == "Timeout")
    # Rank 2 is folded into rank 0, which waits for rank 1: whose watch runs out first is told by nobody.
    waited = {0: "from rank 1 (", 2: "from rank 0 ("}[late]
    assert "all_reduce.halving_doubling(sum, 1000 x float32) (number 1 of communicator 0)" in text
    assert "longer than 2 s (setting timeout); it waits for messages" in text and waited in text
    told = [end["message"] for end in ends if end["error"] == "Aborted"]
    assert all("gave up: Timeout: all_reduce" in message for message in told), told
    assert "rank 1 lags: all_reduce.halving_doubling(sum, 1000 x float32), number 0, has ended" in output
    assert [finding["ranks"] for finding in found["findings"] if finding["kind"] == "lags"] == [[1]]


def test_a_signal_has_the_record_written_while_the_job_goes_on(tmp_path: Path) -> None:
    with Job(
        2, "calls", {"ranks": [[SUM, SUM], [SUM, ASLEEP, SUM]], "settings": {"flight_dir": str(tmp_path)}}
    ) as job:
        job.workers[1].wait_for("asleep")
        job.workers[0].wait_for("returned")
        job.workers[0].kill(signal.SIGUSR1)
        (path,) = written(tmp_path, 1)
        record = json.loads(path.read_text())
        job.workers[1].send_line("")
        assert [end["error"] for end in job.ends()] == [None, None]
    assert record["reason"] == "signal SIGUSR1"
    assert [row["number"] for row in record["collectives"]] in ([0], [0, 1])
    assert record["collectives"][0]["state"] == "ended"
    output = report(tmp_path)
    assert "records of 1 of 2 ranks" in output and "no record of rank 1" in output


def test_a_warning_says_what_a_collective_waits_for() -> None:
    ranks = [[SUM], [ASLEEP, SUM]]
    with Job(2, "calls", {"ranks": ranks, "settings": {"warn_after": 1.0}}) as job:
        job.workers[1].wait_for("asleep")
        until = time.monotonic() + PATIENCE
        while not any("rank 0 is in all_reduce" in line for line in job.workers[0].errors):
            assert time.monotonic() < until
        job.workers[1].send_line("")
        assert [end["error"] for end in job.ends()] == [None, None]
    warning = next(line for line in job.workers[0].errors if "rank 0 is in all_reduce" in line)
    assert "(number 0 of communicator 0) for" in warning
    assert "from rank 1 (step 0, message 0: 1 of 1 packets missing)" in warning


def test_a_folder_without_records_is_named(tmp_path: Path) -> None:
    from csaud.cli.command import app

    for folder in (tmp_path, tmp_path / "none"):
        result = CliRunner().invoke(app, ["flight", str(folder)])
        assert result.exit_code != 0 and str(folder) in str(result.exception)
    (tmp_path / "epoch-1-rank-0.json").write_text("{}")
    result = CliRunner().invoke(app, ["flight", str(tmp_path)])
    assert "epoch-1-rank-0.json is no flight record" in str(result.exception)
