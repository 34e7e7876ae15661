"""Logs for programs: one object a line, whatever is said."""

import json
import logging
import re
import sys

import pytest
from csaud_controller.cli.logs import JsonLines, LogFormat, start_log


def test_each_line_is_an_object_with_what_went_wrong_in_it() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        went_wrong = sys.exc_info()
    record = logging.LogRecord("csaud.controller", logging.WARNING, "", 0, "%s: gone", ("s1",), went_wrong)
    (line,) = JsonLines().format(record).splitlines()
    said = json.loads(line)
    assert (said["level"], said["logger"], said["message"]) == ("warning", "csaud.controller", "s1: gone")
    assert said["exception"].endswith("ValueError: two\nlines")
    assert said["time"].endswith("+00:00")


@pytest.mark.parametrize("form", LogFormat)
def test_a_log_is_lines_for_people_or_objects_for_programs(
    form: LogFormat, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "root", logging.RootLogger(logging.WARNING))  # pytest's has handlers
    monkeypatch.setattr(logging.Logger, "manager", logging.Manager(logging.root))
    start_log(form)
    log = logging.getLogger("csaud.controller")
    log.debug("of no interest")
    log.info("%s is ready", "s1")
    told = capsys.readouterr()
    assert told.out == ""
    (line,) = told.err.splitlines()
    if form is LogFormat.JSON:
        assert json.loads(line)["message"] == "s1 is ready"
    else:
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO s1 is ready", line)
