"""The mutators: what they change, what they leave alone, and that a sample is a function of its seed."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.mutants import nearest, sample
from tests.mutants.__main__ import main
from tests.mutants.cpp_mutants import CppFile
from tests.mutants.mutant import Mutant
from tests.mutants.workshop import Answer, Workshop, _complaint

ROOT = Path(__file__).resolve().parents[2]

CPP = """\
// a < b
#include "x.hpp"
static_assert(kSize == 4, "size");
bool Window::admits(std::uint32_t n) const {
    if (n < size_ && !closed_) return true;
    log("n > 5");
    ++refused_;
    names_.reserve(5);
    return false;
}
struct alignas(64) Flow {};
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
    assert {mutant.line for mutant in mutants if mutant is not None} == {5, 6, 7, 9}


def test_what_python_logs_is_left_alone() -> None:
    made = pytest.importorskip("tests.mutants.python_mutants", reason="mutmut comes with make mutants")
    file = made.PythonFile("x.py", 'log.info("so", 1)\nlog.clear(2)\nwrite(3)\n')
    mutants = [file.make(number) for number in range(len(file))]
    changed = {mutant.change[0] for mutant in mutants if mutant is not None}
    assert changed == {"write(3)"}


def test_what_is_for_a_type_checker_or_a_debugger_is_left_alone() -> None:
    made = pytest.importorskip("tests.mutants.python_mutants", reason="mutmut comes with make mutants")
    file = made.PythonFile(
        "x.py",
        "Array = npt.NDArray[Any]\nOne = A | B\nT = TypeVar('T')\nSIZE = other.SIZE\n"
        "Shown = Annotated[int, Option(min=1)]\nfor a in zip(b, c, strict=True): pass\n"
        "def __repr__(self): return str(1)\n",
    )
    changes = [mutant.change for number in range(len(file)) if (mutant := file.make(number))]
    assert {was.split()[0] for was, _ in changes} == {"SIZE", "Shown", "for"}
    assert {now for was, now in changes if was.startswith("for")} == {
        f"for a in zip({others}strict=True): pass" for others in ("None, c, ", "b, None, ", "c, ", "b, ")
    }


class _Workshop(Workshop):
    """Whose tests give these answers in turn."""

    def __init__(self, *answers: Answer) -> None:
        self.tree = ROOT
        self._answers = list(answers)
        self._failing: list[str] = []
        self.written: list[str] = []
        self.shares: list[float] = []

    def write(self, path: str, text: str) -> None:
        self.written.append(text)

    def ask(self, tests: Iterable[str], share: float = 1.0) -> Answer:
        self.shares.append(share)
        return self._answers.pop(0)


_FAILED = Answer(False, "FAILED t.py::a", ("t.py::a",))
_LATE = Answer(False, "not done after 9 s", ("t.py",), late=True)
_PASSED = Answer(True, "")


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        ((_FAILED, _PASSED), "caught"),
        ((_LATE, _PASSED), "caught"),
        ((_PASSED,), "survived"),
        ((_FAILED, _FAILED, _PASSED), "survived"),
        ((_LATE, _LATE), "undecided"),
    ],
)
def test_a_test_counts_that_passes_without_the_mutant(answers: tuple[Answer, ...], outcome: str) -> None:
    mutant = Mutant("hostlib/csaud/config/launch.py", 1, "number", "before", "after")
    workshop = _Workshop(*answers)
    assert sample.judge(workshop, mutant, {}, near=True).outcome == outcome
    assert workshop.written[-1] == "before"


@pytest.mark.parametrize(("answer", "share"), [(_FAILED, 1.0), (_LATE, 0.5)])
def test_tests_that_were_late_have_to_be_far_sooner_without_the_mutant(answer: Answer, share: float) -> None:
    mutant = Mutant("hostlib/csaud/config/launch.py", 1, "number", "before", "after")
    workshop = _Workshop(answer, _PASSED)
    assert sample.judge(workshop, mutant, {}, near=True).outcome == "caught"
    assert workshop.shares == [1.0, share]


def _bare_workshop(tree: Path, limit_s: float) -> Workshop:
    """Over a tree as it lies there, without a copy of the project."""
    workshop = Workshop.__new__(Workshop)
    workshop.tree, workshop._environ, workshop._limit_s = tree, dict(os.environ), limit_s
    workshop._failing = []
    return workshop


def test_tests_have_so_much_of_the_limit_as_is_said(tmp_path: Path) -> None:
    (tmp_path / "test_hangs.py").write_text("import signal\ndef test_hangs(): signal.pause()\n")
    workshop = _bare_workshop(tmp_path, 2.0)
    late = workshop.ask(["test_hangs.py"], share=0.5)
    assert late == Answer(False, "not done after 1 s", ("test_hangs.py",), late=True)


def test_browsers_are_not_asked_as_they_do_not_start_with_so_little_memory(tmp_path: Path) -> None:
    test = "import pytest\n@pytest.mark.browser\ndef test_page(): raise MemoryError\n"
    (tmp_path / "test_page.py").write_text(test)
    workshop = _bare_workshop(tmp_path, 60.0)
    assert workshop.ask(["test_page.py"]).passed


def test_a_complaint_names_the_test_that_is_to_be_asked_again() -> None:
    said = "..F\nFAILED tests/a/test_b.py::test_c[x-1]@torch - AssertionError: no\n"
    assert _complaint(said, 1, ("tests/a",)).tests == ("tests/a/test_b.py::test_c[x-1]",)
    assert _complaint("ERROR tests/a/test_b.py - KeyError\n", 2, ()).tests == ("tests/a/test_b.py",)
    assert _complaint("", 3, ("tests/a",)) == Answer(False, "pytest ended with 3", ("tests/a",))


def test_a_sample_is_a_function_of_its_seed() -> None:
    files = sample.sources(ROOT, ["hostlib/native/csaud_host"])
    first, again, other = (sample.draw(ROOT, files, 10, seed) for seed in (3, 3, 4))
    assert first == again
    assert len({mutant.after for mutant in first}) == 10
    assert first != other


def test_a_kind_of_change_of_which_a_file_has_few_is_drawn_as_often_as_one_of_which_it_has_many(
    tmp_path: Path,
) -> None:
    numbers = "".join(f"int a{i} = {i};\n" for i in range(400))
    (tmp_path / "file.cpp").write_text(numbers + "".join(f"bool b{i} = !c{i};\n" for i in range(40)))
    drawn = sample.draw(tmp_path, ["file.cpp"], 40, seed=1)
    assert 12 <= sum(mutant.operator == "not left out" for mutant in drawn) <= 28


def test_a_file_that_left_the_tree_leaves_its_copy(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path / "root"], check=True)
    (tmp_path / "root" / "kept.cpp").write_text("int kept;\n")
    copy = Workshop.__new__(Workshop)
    copy.tree = tmp_path / "tree"
    (copy.tree / "build").mkdir(parents=True)
    for name in ("gone.cpp", "_core.so", "build/made.cpp"):
        (copy.tree / name).write_text("")
    copy._copy(tmp_path / "root")
    left = sorted(file.relative_to(copy.tree).as_posix() for file in copy.tree.rglob("*") if file.is_file())
    assert left == ["_core.so", "build/made.cpp", "kept.cpp"]


def test_a_second_run_in_one_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.setattr(
        sys, "argv", ["mutants", "--paths", "hostlib/native/csaud_host", "--out", str(tmp_path)]
    )
    with (tmp_path / "work" / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(SystemExit, match="2"):
            main()
    assert f"--out {tmp_path}: another run works there" in capsys.readouterr().err
    assert not (tmp_path / "work" / "tree").exists()


def test_what_runs_collectives_is_asked_about_in_their_tests() -> None:
    path = "hostlib/native/collectives/executor.cpp"
    assert path in sample.sources(ROOT, ["hostlib/native/collectives"])
    files = [file for group in nearest.stages(ROOT, path) for file in group]
    of_collectives = [file.startswith("tests/hostlib/test_collectives_") for file in files]
    assert of_collectives == sorted(of_collectives, reverse=True) and any(of_collectives)
    assert "tests/hostlib/test_device_mismatch.py" in files
    near = [file for group in nearest.stages(ROOT, path, near=True) for file in group]
    assert near == files[: sum(of_collectives) + 4]


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("controller/csaud_controller/base/http_peers.py", "controller/test_netbox_rest.py"),
        ("controller/csaud_controller/cli/fabric_files.py", "controller/test_inventory.py"),
        ("hostlib/csaud/groups/direct.py", "hostlib/test_collectives_group.py"),
        ("hostlib/native/csaud_host/endpoint/plausibility.cpp", "hostlib/test_threats.py"),
    ],
)
def test_tests_that_do_not_name_a_file_are_near_where_they_share_its_words(path: str, test: str) -> None:
    near = [file for group in nearest.stages(ROOT, path, near=True) for file in group]
    assert f"tests/{test}" in near


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("hostlib/csaud/groups/communicator.py", "hostlib/test_device_communicator.py"),  # by its name
        ("controller/csaud_controller/service/serving.py", "controller/test_elsewhere.py"),  # by what it runs
    ],
)
def test_tests_are_near_by_their_name_or_by_what_they_run(path: str, test: str) -> None:
    near = [file for group in nearest.stages(ROOT, path, near=True) for file in group]
    assert f"tests/{test}" in near


@pytest.mark.parametrize("path", ["controller/csaud_controller/cli/limit.py", "hostlib/csaud/cli/devices.py"])
def test_the_test_of_all_commands_is_near_to_each_of_them(path: str) -> None:
    near = [file for group in nearest.stages(ROOT, path, near=True) for file in group]
    assert "tests/hostlib/test_commands.py" in near


def test_a_word_counts_the_more_the_fewer_tests_have_it(tmp_path: Path) -> None:
    texts = {"made.py": "often(twice, once)", "a": "often once", "b": "often twice", "c": "often twice"}
    for name, text in {**texts, "d": "often other", "e": "often"}.items():
        (tmp_path / name).write_text(text)
    found = nearest.likeness(tmp_path, "made.py", "abcde")
    assert found["a"] > found["b"] == found["c"] > found["d"] == found["e"] == 0


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize(
    "path", ["hostlib/native/csaud_host/flow/window.hpp", "hostlib/csaud/groups/group.py"]
)
def test_tests_are_asked_a_few_files_at_a_time(path: str, near: bool) -> None:
    """So that the limit on time need not be that of all tests of a part."""
    groups = nearest.stages(ROOT, path, near)
    assert all(0 < len(group) <= 8 for group in groups) and len(groups) > 1
    files = [file for group in groups for file in group]
    assert len(files) == len(set(files))


TORCH = "hostlib/csaud/torch: PyTorch is not installed (`make torch` does that)"


@pytest.mark.parametrize("installed", [False, True])
def test_what_has_no_tests_without_pytorch_is_drawn_where_it_is_installed(
    installed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tests.mutants.python_mutants", reason="mutmut comes with make mutants")
    monkeypatch.setattr(nearest.importlib.util, "find_spec", lambda name: installed or None)  # type: ignore[attr-defined]
    words = ["mutants", "--list", "--sample", "3", "--paths", "hostlib/csaud/torch"]
    monkeypatch.setattr(sys, "argv", words)
    if not installed:
        with pytest.raises(SystemExit, match="2"):
            main()
        assert capsys.readouterr().err.endswith(f"error: {TORCH}\n")
        monkeypatch.setattr(sys, "argv", [*words, "hostlib/csaud/perf"])
    assert main() == 0
    told = capsys.readouterr().out
    assert (f"without {TORCH}\n" in told) is not installed
    assert ("\nhostlib/csaud/torch/" in told) is installed
    assert ("\nhostlib/csaud/perf/" in told) is not installed


def test_a_path_without_sources_is_named() -> None:
    with pytest.raises(ValueError, match="docs: no Python or C"):
        sample.sources(ROOT, ["docs"])
    with pytest.raises(ValueError, match=r"bench/results\.py: expected a file below"):
        sample.sources(ROOT, ["bench/results.py"])


def test_equivalents_say_why() -> None:
    assert all(why for why in sample.equivalents().values())
