"""What the run of PyTorch's own tests says and keeps of them."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import unittest

import pytest

from tests.torch_backend import pytorch_suite

WHY = """Process 2 exited with error code 10 and exception:
Traceback (most recent call last):
  File "distributed_test.py", line 1773, in _test_send_recv_any_source
    sender = dist.recv(output_tensor)
RuntimeError: csaud: recv from any source: name the rank

To execute this test, run the following: ...
"""


class Tests(unittest.TestCase):
    __test__ = False  # of pytest

    def test_holds(self) -> None:
        pass

    def test_fails(self) -> None:
        raise AssertionError(WHY)

    @unittest.skip("https://github.com/pytorch/pytorch/pull/1")
    def test_left_out(self) -> None:
        pass


@pytest.mark.torch
def test_outcomes_are_kept_with_the_line_that_names_the_error(tmp_path, capsys):
    pytest.importorskip("torch")
    told = pytorch_suite._Told()
    for name in ("test_holds", "test_fails", "test_left_out"):
        Tests(name).run(told)
    assert told.counts() == {"passed": 1, "failed": 1, "skipped": 1}
    out = tmp_path / "outcomes.json"
    for on in ("csaud", "gloo"):
        pytorch_suite._keep(told, argparse.Namespace(on=on, like="gloo", world=4, out=out))
    kept = json.loads(out.read_text())
    assert list(kept) == ["csaud in place of gloo, 4 ranks", "gloo in place of gloo, 4 ranks"]
    assert kept["gloo in place of gloo, 4 ranks"]["outcomes"] == {
        "test_holds": "passed",
        "test_fails": "failed: RuntimeError: csaud: recv from any source: name the rank",
        "test_left_out": "skipped: by PyTorch, everywhere",
    }
    assert "failed   test_fails" in capsys.readouterr().out


def test_without_what_they_need_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["pytorch_suite"])
    with pytest.raises(SystemExit) as ended:
        pytorch_suite.main()
    assert ended.value.code == 2 and "pip install expecttest" in capsys.readouterr().err
