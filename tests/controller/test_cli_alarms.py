"""`csaud alarm show`: the latest, and with --watch those that come, each once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from csaud_controller.cli import alarm
from typer.testing import CliRunner


def alarms(numbers: range, switch: str = "l1") -> dict[str, Any]:
    """What a controller answers that has had all these, and is asked for them."""
    found = [
        {"number": n, "time": 0.0, "switch": switch, "port": 3, "depth": 100 + n, "kind": "data"}
        for n in numbers
    ]
    return {"total": numbers.stop - 1, "by_port": {f"{switch}:3": numbers.stop - 1}, "alarms": found}


class Controller:
    """Gives these answers in turn; who asks once more has pressed Ctrl-C."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    def __call__(self, _run: object, method: str, **parameters: Any) -> tuple[None, dict[str, Any]]:
        assert method == "alarms"
        self.asked.append(parameters)
        if not self.answers:
            raise KeyboardInterrupt
        return None, self.answers.pop(0)


def shown(monkeypatch: pytest.MonkeyPatch, controller: Controller, *words: str) -> list[str]:
    monkeypatch.setattr(alarm, "request", controller)
    done = CliRunner().invoke(alarm.app, ["show", *words])
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


def test_the_latest_ten_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, Controller(alarms(range(1, 13))))
    latest = lines[lines.index("Latest") + 1 :]
    assert [line.split()[2] for line in latest] == [str(100 + n) for n in range(3, 13)]
    assert latest[0].endswith(" l1:3: 103 packets waiting when a data packet came")


def test_the_port_that_has_most_alarms_is_first(monkeypatch: pytest.MonkeyPatch) -> None:
    by_port = {"l1:3": 9, "l2:1": 200, "s1:2": 30}
    lines = shown(monkeypatch, Controller({**alarms(range(1, 240)), "by_port": by_port}))
    rows = [line.split() for line in lines[: lines.index("Latest")]]
    assert [row for row in rows if row and row[0] in by_port] == [
        ["l2:1", "200"], ["s1:2", "30"], ["l1:3", "9"],
    ]  # fmt: skip


@pytest.mark.parametrize("words", [[], ["--watch"]], ids=str)
def test_an_alarm_is_one_line_however_narrow_the_terminal(
    monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    switch = "leaf-07-of-the-second-row"
    came = [alarms(range(1, 2), switch), alarms(range(2, 3), switch)]
    lines = shown(monkeypatch, Controller(*came[: 1 + len(words)]), *words)
    latest = lines[lines.index("Latest") + 1 :]
    assert [line.split(" ", 1)[1] for line in latest] == [
        f"{switch}:3: {100 + n} packets waiting when a data packet came" for n in range(1, 2 + len(words))
    ]


@pytest.mark.parametrize("as_json", [False, True])
def test_what_came_has_been_written_when_the_next_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, as_json: bool
) -> None:
    """Into a pipe, too, which Python gives whole blocks of text otherwise."""
    read: list[int] = []

    class Reader(Controller):
        def __call__(self, *args: Any, **parameters: Any) -> tuple[None, dict[str, Any]]:
            read.append((tmp_path / "out").read_text().count("data"))
            return super().__call__(*args, **parameters)

    monkeypatch.setattr(alarm, "request", Reader(*(alarms(range(n, n + 1)) for n in (1, 2, 3))))
    with (tmp_path / "out").open("w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        alarm.app(["show", "--watch", *(["--json"] if as_json else [])], standalone_mode=False)
    assert read == [0, 1, 2, 3]


@pytest.mark.parametrize("as_json", [False, True])
def test_those_that_come_are_shown_once(monkeypatch: pytest.MonkeyPatch, as_json: bool) -> None:
    """Not those of the first answer again, nor of an answer that was made before the last one's."""
    controller = Controller(
        alarms(range(1, 3)), alarms(range(2, 5)), alarms(range(1, 4)), alarms(range(4, 6))
    )
    lines = shown(monkeypatch, controller, "--watch", *(["--json"] if as_json else []))
    if as_json:
        assert [json.loads(line)["number"] for line in lines] == [1, 2, 3, 4, 5]
    else:
        came = lines[lines.index("Latest") + 1 :]
        assert [line.split()[2] for line in came] == ["101", "102", "103", "104", "105"]
    assert [each.get("since") for each in controller.asked] == [None, 2, 4, 4, 5]
