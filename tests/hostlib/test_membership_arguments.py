"""What cannot be asked of a communicator's membership is named at once, and the communicator stays of use."""

from collections.abc import Callable
from typing import Any

import csaud
import numpy as np
import pytest
from csaud import recover

Call = Callable[[Any], object]
TIMEOUTS = [None, "60", float("nan"), float("inf"), -1, 1e12]


@pytest.fixture(scope="module")
def comm():
    with csaud.init(environ={}) as comm:
        yield comm


@pytest.mark.parametrize("timeout", TIMEOUTS, ids=str)
def test_what_is_no_time_to_wait_is_named(comm: Any, timeout: Any) -> None:
    calls: list[tuple[str, Call]] = [
        ("agree", lambda timeout: comm.agree(1, timeout=timeout)),
        ("reform", lambda timeout: comm.reform(timeout)),
        ("shrink", lambda timeout: comm.shrink(timeout)),
        ("quiesce", lambda timeout: comm.quiesce(timeout)),
        ("join", lambda timeout: csaud.join("127.0.0.1:1", timeout=timeout)),
        ("recover", lambda timeout: recover.start(1, [np.zeros(1)], timeout=timeout, environ={})),
    ]
    for name, call in calls:
        with pytest.raises(csaud.ConfigError) as raised:
            call(timeout)
        assert str(raised.value) == f"{name}: timeout={timeout!r}: expected seconds, from 0 to 1e+09"
    assert comm.agree(5, timeout=np.float32(20.0)).value == 5


@pytest.mark.parametrize("op", ["sum", "", "AND", None], ids=repr)
def test_operations_that_nobody_agrees_by_are_named(comm: Any, op: Any) -> None:
    with pytest.raises(csaud.ConfigError) as raised:
        comm.agree(1, op)
    assert str(raised.value) == f"agree: op {op!r}: expected one of and, or, min, max"
    assert [comm.agree(6, op).value for op in ("and", "or", "min", "max")] == [6] * 4


def test_paths_that_there_are_not_are_named(comm: Any) -> None:
    last = comm.settings.paths - 1
    for path in (-1, last + 1, "1", 1.0, None):
        with pytest.raises(csaud.ConfigError) as raised:
            comm.deny_path(path)
        assert str(raised.value) == f"deny_path: path {path!r} is not one of the {last + 1} paths"
    for path in (0, last):
        comm.deny_path(path)
        comm.deny_path(path, denied=False)


def test_values_that_nobody_can_agree_on_are_named(comm: Any) -> None:
    for value, words in (
        (2.7, "agree: value=2.7: expected a whole number"),
        ("3", "agree: value='3': expected a whole number"),
        (1 << 8192, "agree: a value of 8193 bits: expected 8192 at most"),
    ):
        with pytest.raises(csaud.ConfigError) as raised:
            comm.agree(value)
        assert str(raised.value) == words
    for value in ((1 << 8192) - 1, -1, True, np.int64(7)):
        assert comm.agree(value).value == int(value)
