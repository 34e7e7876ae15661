"""All commands alike: they complete, they have manual pages, and print JSON where they print data."""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from csaud.cli.command import app
from csaud.cli.manual import page, title
from csaud.cli.statuses import STATUSES
from csaud.cli.tree import tree, walk
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "commands.md"

PRINT_NO_DATA = {
    "capture": "writes a capture",
    "completion": "prints a script for a shell",
    "controller run": "serves",
    "fabric schema": "prints JSON always",
    "lab inventory": "prints YAML, for Ansible",
    "lab rehearse": "says what it does, and writes a report",
    "lab schema": "prints JSON always",
    "net exec": "runs a program, whose output it is",
    "net job": "runs a program, whose output it is",
    "net run": "writes report.json",
    "perf server": "serves",
    "policy schema": "prints JSON always",
    "recover": "runs a program, whose output it is",
    "service openapi": "prints JSON always",
    "service run": "serves",
    "service token remove": "says nothing",
    "switch run": "serves",
    "switch shell": "is talked with",
}


@pytest.fixture(scope="module")
def entries():
    return list(walk(tree(app)))


def test_every_command_that_prints_data_has_json(entries):
    without = {
        " ".join(each.words[1:])
        for each in entries
        if not each.children and not any("--json" in option.opts for option in each.options)
    }
    assert without == PRINT_NO_DATA.keys()


def test_completion_is_installed_by_csaud_alone(entries):
    """What is installed by it completes all commands; of one alone it would take the place of that."""
    by = [each.words for each in entries if any("--install-completion" in one.opts for one in each.options)]
    assert by == [("csaud",)]


def test_every_command_has_a_manual_page_that_man_takes(entries, tmp_path):
    for each in entries:
        text = page(each)
        (tmp_path / f"{title(each)}.1").write_text(text)
        assert "\\- \n" not in text, f"{title(each)} has no summary"
        for option in each.options:
            assert option.opts[0].replace("-", r"\-") in text
    if shutil.which("groff"):
        names = sorted(path.name for path in tmp_path.iterdir())
        made = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-z", *names], cwd=tmp_path, capture_output=True, text=True
        )
        assert made.returncode == 0
        # long lists of choices cannot be broken
        assert [line for line in made.stderr.splitlines() if "cannot" not in line] == []


def calls_in(text):
    """The commands that a document quotes, in spans and in blocks, as words without values."""
    lines = re.findall(r"^(?: {4,}|> )(.*)$", text, re.MULTILINE)
    for block in re.findall(r"^```.*?\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        lines += block.splitlines()
    for call in [*re.findall(r"`([^`\n]+)`", text), *lines]:
        if found := re.match(r"(?:\$ )?(?:sudo )?(?:[A-Z_]+=\S+ )*(?:[\w./]*/)?csaud( .*)", call):
            yield re.split(r" (?:--|\||#|>|&&?|2>|\.\.\.)(?: |$)|;", found[1])[0].split()


def wrong_in(words, commands):
    """What of a call no command takes; None: nothing."""
    at, known = ("csaud",), {"--help"}
    while True:
        known.update(*(option.opts + option.secondary_opts for option in commands[at].options))
        if not words or (*at, words[0]) not in commands:
            break
        at, words = (*at, words[0]), words[1:]
    if words and re.fullmatch(r"[a-z][a-z-]*", words[0]) and any(more[:-1] == at for more in commands):
        return words[0]
    if any(each.nargs == -1 for each in commands[at].arguments):  # the rest may be a program's
        words = itertools.takewhile(lambda word: word.startswith("-"), words)
    options = [re.match(r"--\w[\w-]*", word) for word in words]
    return next((found[0] for found in options if found and found[0] not in known), None)


def test_commands_that_documents_quote_are_there(entries):
    commands = {each.words: each for each in entries}
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    calls = [(path.name, words) for path in documents for words in calls_in(path.read_text())]
    assert len(calls) > 200
    assert not [(*call, found) for call in calls if (found := wrong_in(call[1], commands))]
    assert wrong_in(["policy", "set", "--spray", "random", "--sprays"], commands) == "--sprays"
    assert wrong_in(["policy", "sets"], commands) == "sets"


def test_exit_statuses_are_in_the_manual_and_in_help(entries):
    described = {
        int(cells[1])
        for line in DOCS.read_text().splitlines()
        if (cells := line.split("|"))[1:] and cells[1].strip().isdigit()
    }
    assert described == STATUSES.keys()
    assert all(f"{status}: {meaning}" in entries[0].command.epilog for status, meaning in STATUSES.items())


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_shells_are_told_what_may_follow(shell):
    asked = {"_TYPER_COMPLETE_ARGS": "csaud fabric sh", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    environ = {"_CSAUD_COMPLETE": f"complete_{shell}", **asked}
    told = CliRunner().invoke(app, [], env=environ, prog_name="csaud").output
    assert "show" in told
    assert "plan" not in told


def test_bash_completes_commands_options_and_values(tmp_path):
    script = tmp_path / "csaud.bash"
    script.write_text(CliRunner().invoke(app, ["completion", "bash"]).output)
    command = tmp_path / "csaud"
    command.write_text(
        f'#!{sys.executable}\nimport sys; from csaud.cli import main; sys.argv[0] = "csaud"; main()\n'
    )
    command.chmod(0o755)
    asked = f"""
        source {script}
        ask() {{
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
            _csaud_completion csaud; echo "${{COMPREPLY[@]}}"
        }}
        ask csaud policy set --hon
        ask csaud policy set --spray fl
    """
    environ = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    said = subprocess.run(["bash", "-c", asked], env=environ, capture_output=True, text=True, check=True)
    assert said.stdout.splitlines() == ["--honour-hosts", "flowlet"]


def test_manual_write_says_where_pages_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    words = ["manual", "write", "--out", str(tmp_path / "file")]
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == f"csaud: [Errno 17] File exists: '{tmp_path / 'file'}'\n"


def test_manual_write_says_where_pages_are(tmp_path):
    told = CliRunner().invoke(app, ["manual", "write", "--out", str(tmp_path / "man1")])
    pages = len(list((tmp_path / "man1").iterdir()))
    assert (told.exit_code, told.output) == (0, f"{tmp_path / 'man1'}: {pages} pages\n")
    made = CliRunner().invoke(app, ["manual", "write", "--out", str(tmp_path / "man1"), "--json"])
    told = json.loads(made.output)
    assert "csaud-policy-set.1" in told["pages"]
    assert sorted(path.name for path in (tmp_path / "man1").iterdir()) == sorted(told["pages"])
