"""Path reports: what is said, what is done with the answer, and that nobody waits for a controller."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import csaud
import pytest
from csaud.errors import ConfigError
from csaud.groups.path_reports import PathReports, parse_address

from tests.hostlib.jobs import loopback_address

SOON = 0.01  # s between two reports


class Paths:
    """Four paths, one of which loses much."""

    def __init__(self) -> None:
        self.denied: set[int] = set()
        self.asked = threading.Semaphore(0)

    def stats(self) -> dict[str, Any]:
        self.asked.release()
        return {"tx_path": [10, 20, 30, 0], "tx_path_lost": [0, 7, 1, 0], "tx_path_ecn": [0, 0, 2, 0]}

    def deny_path(self, path: int, denied: bool = True) -> None:
        (self.denied.add if denied else self.denied.remove)(path)


@contextmanager
def controller(path: Path, answers: list[bytes]) -> Iterator[list[dict[str, Any]]]:
    """Gives these answers, one a connection, the last again and again; yields what it was told."""
    told: list[dict[str, Any]] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    told.append(json.loads(connection.makefile("rb").readline()))
                    connection.sendall(answers.pop(0) if len(answers) > 1 else answers[0])

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield told
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def denying(*paths: int) -> bytes:
    return json.dumps({"ok": True, "denied": list(paths)}).encode() + b"\n"


def reports(paths: Paths, where: Path) -> PathReports:
    return PathReports(paths, 3, "10.0.1.2", 4, f"unix:{where}", SOON)


def times(paths: Paths, count: int) -> None:
    for _ in range(count):
        assert paths.asked.acquire(timeout=20)


def test_a_report_says_what_became_of_each_path(tmp_path: Path) -> None:
    paths = Paths()
    with controller(tmp_path / "c", [denying()]) as told:
        reporter = reports(paths, tmp_path / "c")
        reporter.start()
        times(paths, 2)
        reporter.stop()
    assert told[0] == {
        "op": "paths.report", "rank": 3, "host": "10.0.1.2",
        "tx": [10, 20, 30, 0], "lost": [0, 7, 1, 0], "ecn": [0, 0, 2, 0],
    }  # fmt: skip
    assert len(told) >= 3, "one more when it is stopped"


def test_a_job_with_a_controller_tells_it_of_its_paths_when_it_ends(tmp_path: Path) -> None:
    """Even where it ends before a report is due."""
    settings = {"controller": f"unix:{tmp_path / 'c'}", "paths": 8, "report_interval": 3600.0}
    address = loopback_address()
    with (
        controller(tmp_path / "c", [denying()]) as told,
        csaud.init(environ={}, address=address, **settings) as comm,
    ):
        comm.barrier()
        comm.close()
        assert [(one["rank"], one["host"], len(one["tx"])) for one in told] == [(0, address, 8)]


def test_a_program_that_does_not_close_its_communicator_ends(tmp_path: Path) -> None:
    """No thread of ours keeps it, whatever that waits for."""
    settings = {"controller": f"unix:{tmp_path / 'c'}", "report_interval": 3600.0}
    program = f"import csaud\ncomm = csaud.init(environ={{}}, address={loopback_address()!r}, **{settings!r})"
    done = subprocess.run(
        [sys.executable, "-c", program], timeout=60, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_denied_paths_are_those_of_the_newest_answer(tmp_path: Path) -> None:
    paths = Paths()
    answers = [denying(1), denying(1, 2), denying(2, 99), denying(3)]
    seen = []
    with controller(tmp_path / "c", answers):
        reporter = reports(paths, tmp_path / "c")
        for _ in range(4):
            reporter.hear(reporter._ask(reporter.report()))
            seen.append(sorted(paths.denied))
    assert seen == [[1], [1, 2], [2], [3]]


def test_not_all_paths_can_be_denied(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    paths = Paths()
    reporter = reports(paths, tmp_path / "c")
    reporter.obey([2])
    reporter.obey(range(100))
    assert paths.denied == set()
    assert "denies all 4 paths" in caplog.text


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "Expecting value"),
        (b"nonsense\n", "Expecting value"),
        (b"[]\n", "its answer cannot be read: TypeError"),
        (b'{"ok": false, "error": "full"}\n', "full"),
        (b'{"ok": false}\n', "no reason given"),
        (b'{"ok": true}\n', "its answer cannot be read: KeyError('denied')"),
    ],
)
def test_a_controller_that_answers_wrongly_changes_nothing(
    answer: bytes, why: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    paths = Paths()
    with controller(tmp_path / "c", [denying(1), answer]):
        reporter = reports(paths, tmp_path / "c")
        reporter.start()
        times(paths, 4)
        reporter.stop()
    assert paths.denied == {1}
    assert caplog.text.count("takes no path reports") == 1, "said once"
    assert f"takes no path reports: {why}" in caplog.text


def test_a_controller_that_comes_later_is_heard(tmp_path: Path) -> None:
    paths = Paths()
    reporter = reports(paths, tmp_path / "c")
    reporter.start()
    times(paths, 3)
    with controller(tmp_path / "c", [denying(0)]) as told:
        times(paths, 3)
        reporter.stop()
    assert told
    assert paths.denied == {0}


@pytest.mark.parametrize(
    ("text", "address"),
    [("unix:/run/x", "/run/x"), ("10.0.0.1:9600", ("10.0.0.1", 9600)), ("[::1]:9600", ("::1", 9600))],
)
def test_addresses(text: str, address: Any) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["unix:relative", "host", "host:", ":80", "host:0", "host:65536", "host:x"])
def test_an_address_that_cannot_be_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match="expected unix:/path or host:port"):
        parse_address(text)
