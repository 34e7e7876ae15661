"""Logs for programs: one object a line, whatever is said."""

import json
import logging
import sys

from csaud_controller.cli.logs import JsonLines


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
