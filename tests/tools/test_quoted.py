"""What `make lint` says of code that documents quote."""

from pathlib import Path

import pytest

from tools.quoted import not_there
from tools.references import missing

FILES = {
    "Makefile": "build: ## It\nbench-a bench-b: build\n",
    "controller/csaud_controller/policy/__init__.py": "",
    "controller/csaud_controller/policy/spray.py": "",
    "hostlib/csaud/groups/__init__.py": "from csaud.groups.group import Group\n",
    "hostlib/csaud/groups/group.py": "class Group: ...\n",
    "tests/p4/test_spray.py": "def test_every_path_is_taken(): ...\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    "span",
    [
        "policy/spray.py", "test_*.py", "tests/p4", "tests/p4/", "build/venv", "ROOM/name.py",
        "csaud.groups", "csaud.groups.Group", "csaud.groups.group.Group.size", "csaud_controller.policy",
        "make build", "make bench-b JOBS=2", "rate * 2", "a/b",
    ],
)  # fmt: skip
def test_what_is_there_or_no_name_of_the_repository(root: Path, span: str) -> None:
    assert not_there(span, root, list(FILES)) is None


@pytest.mark.parametrize(
    ("span", "fault"),
    [
        ("policy/sprays.py", "no file policy/sprays.py"),
        ("ray.py", "no file ray.py"),
        ("test_s*.cpp", "no file test_s*.cpp"),
        ("tests/p5", "no tests/p5"),
        ("csaud.group", "no csaud.group"),
        ("csaud.groups.Grape", "no csaud.groups.Grape"),
        ("csaud_controllers.policy", "no csaud_controllers.policy"),
        ("make bench-c", "no target bench-c"),
    ],
)
def test_what_is_not(root: Path, span: str, fault: str) -> None:
    assert fault in (not_there(span, root, list(FILES)) or "")


def test_the_line_is_told_and_blocks_are_passed_over(root: Path) -> None:
    text = "# Spray\n\n```\n`policy/none.py`\n```\n\nSee `policy/spray.py` and `policy/none.py`.\n"
    assert list(missing(text, root, list(FILES))) == ["7: there is no file policy/none.py"]


def test_a_test_that_is_named_is_a_file_or_a_function(root: Path) -> None:
    text = "Paths: `test_spray`, *test_every_path_is_taken*, `test_*.py`,\n*test_no_path_is_taken*\n"
    assert list(missing(text, root, list(FILES))) == ["2: there is no test_no_path_is_taken"]
