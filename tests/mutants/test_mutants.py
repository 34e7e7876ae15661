"""The mutators: what they change, what they leave alone, and that a sample is a function of its seed."""

from pathlib import Path

import pytest

from tests.mutants import sample
from tests.mutants.cpp_mutants import CppFile

ROOT = Path(__file__).resolve().parents[2]

CPP = """\
// a < b
#include "x.hpp"
static_assert(kSize == 4, "size");
bool Window::admits(std::uint32_t n) const {
    if (n < size_ && !closed_) return true;
    log("n > 5");
    ++refused_;
    return false;
}
"""


def test_a_cpp_file_is_changed_where_it_has_code() -> None:
    file = CppFile("window.cpp", CPP)
    mutants = [file.make(number) for number in range(len(file))]
    changes = {mutant.change for mutant in mutants if mutant is not None}
    condition = "if (n < size_ && !closed_) return true;"
    assert (condition, "if (n <= size_ && !closed_) return true;") in changes
    assert (condition, "if (n < size_ || !closed_) return true;") in changes
    assert (condition, "if (n < size_ && closed_) return true;") in changes
    assert (condition, "if (!(n < size_ && !closed_)) return true;") in changes
    assert (condition, "if (n < size_ && !closed_) return false;") in changes
    assert ('log("n > 5");', ";") in changes
    assert ("++refused_;", ";") in changes
    assert {was for was, _ in changes} == {condition, 'log("n > 5");', "++refused_;", "return false;"}
    assert {mutant.line for mutant in mutants if mutant is not None} == {5, 6, 7, 8}


def test_what_python_logs_is_left_alone() -> None:
    made = pytest.importorskip("tests.mutants.python_mutants", reason="mutmut comes with make mutants")
    file = made.PythonFile("x.py", 'log.info("so", 1)\nlog.clear(2)\nwrite(3)\n')
    mutants = [file.make(number) for number in range(len(file))]
    changed = {mutant.change[0] for mutant in mutants if mutant is not None}
    assert changed == {"write(3)"}


def test_a_sample_is_a_function_of_its_seed() -> None:
    files = sample.sources(ROOT, ["hostlib/native/csaud_host"])
    first, again, other = (sample.draw(ROOT, files, 10, seed) for seed in (3, 3, 4))
    assert first == again
    assert len({mutant.after for mutant in first}) == 10
    assert first != other


def test_a_path_without_sources_is_named() -> None:
    with pytest.raises(ValueError, match="docs: no Python or C"):
        sample.sources(ROOT, ["docs"])
    with pytest.raises(ValueError, match=r"bench/results\.py: expected a file below"):
        sample.sources(ROOT, ["bench/results.py"])


def test_equivalents_say_why() -> None:
    assert all(why for why in sample.equivalents().values())
