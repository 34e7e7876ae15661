"""The `csaud` command itself; the sub-commands of other packages are tested with them."""

import importlib
import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import csaud
import pytest
import typer
from csaud import errors
from csaud.cli import command as cli
from typer.testing import CliRunner


@pytest.fixture
def run():
    runner = CliRunner()
    return lambda *words, **environ: runner.invoke(cli.app, list(words), env=environ)


@pytest.fixture
def broken_package(monkeypatch):
    """A package that adds a sub-command and cannot be imported."""
    found = {
        "broken": metadata.EntryPoint("broken", "no_such_package.cli:app", cli.GROUP),
    }
    monkeypatch.setattr(cli, "_entry_points", lambda: found)


def test_the_version_is_the_distributions(run):
    result = run("--version")
    assert (result.exit_code, result.output.strip()) == (0, f"csaud {metadata.version('csaud')}")


def test_settings_show_where_a_value_comes_from(run):
    result = run("settings", "--json", CSAUD_WINDOW="7")
    rows = {row["name"]: row for row in json.loads(result.output)}
    assert (rows["window"]["value"], rows["window"]["source"]) == (7, "CSAUD_WINDOW")
    assert (rows["mtu"]["source"], rows["mtu"]["variable"], rows["mtu"]["unit"]) == (
        "default",
        "CSAUD_MTU",
        "bytes",
    )


def test_a_package_that_cannot_be_imported_says_why_and_breaks_nothing_else(run, broken_package):
    result = run("broken", "any", "--thing")
    assert result.exit_code == 1
    assert "csaud broken is not available: No module named 'no_such_package'" in result.output
    listing = run("--help")
    assert listing.exit_code == 0 and "broken" in listing.output and "settings" in listing.output
    assert run("settings").exit_code == 0


def test_an_unknown_command_is_an_error(run):
    assert run("fly").exit_code == 2


def ended(*words, **environ):
    """Exit status and errors of the command as a process."""
    command = [sys.executable, "-c", "from csaud.cli import main; main()", *map(str, words)]
    result = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    return result.returncode, result.stderr


@pytest.mark.parametrize("command", ["settings", "doctor"])
def test_a_wrong_setting_is_one_line_and_mistaken_use(command):
    text = "csaud: CSAUD_WINDOW='x': expected a whole number (packets)\n"
    assert ended(command, CSAUD_WINDOW="x") == (2, text)


@pytest.mark.parametrize("options", [(), ("--trace", "out.json")])
def test_a_folder_without_flight_records_is_one_line_and_mistaken_use(tmp_path, options):
    status, text = ended("flight", tmp_path / "none", *options)
    assert status == 2 and text.startswith(f"csaud: {tmp_path}/none") and text.count("\n") == 1


def test_a_trace_that_cannot_be_written_is_one_line_and_a_failure(tmp_path):
    (tmp_path / "rank-0.trace.json").write_text('{"traceEvents": []}')
    out = ended("flight", tmp_path, "--trace", tmp_path)
    assert out == (1, f"csaud: cannot write {tmp_path}: Is a directory\n")


@pytest.mark.parametrize(
    ("program", "words"),
    [("nowhere/program", "No such file or directory"), (".", "Permission denied")],
)
def test_workers_of_a_program_that_cannot_be_run_are_mistaken_use(program, words):
    assert ended("recover", "--", program) == (2, f"csaud recover: {program}: {words}\n")


def test_a_full_disk_is_one_line_and_an_exit_status():
    words = [sys.executable, "-c", "from csaud.cli import main; main()", "settings", "--json"]
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (result.returncode, result.stderr) == (1, "csaud: No space left on device\n")


def test_the_command_needs_neither_numpy_nor_the_native_module():
    code = (
        "import sys, csaud.cli; sys.exit(int(any(name in sys.modules for name in ('numpy', 'csaud._core'))))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def _commands(command, words=("csaud",)):
    yield words, command
    if hasattr(command, "list_commands"):
        context = typer.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if not found.hidden:
                yield from _commands(found, (*words, name))


def test_every_command_argument_and_option_says_what_it_is():
    """Those of all packages."""
    found = dict(_commands(typer.main.get_command(cli.app)))
    assert {"fabric", "path", "net", "switch", "perf"} <= {words[1] for words in found if len(words) > 1}
    for words, command in found.items():
        assert command.help, " ".join(words)
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"{' '.join(words)}: {parameter.name}"


@pytest.mark.parametrize(
    "name", ["csaud", "csaud.schedules", "csaud.recover", "csaud.scape", "csaud.devices"]
)
def test_a_star_imports_what_a_module_says_is_public(name):
    given = {}
    exec(f"from {name} import *", given)
    public = importlib.import_module(name).__all__
    assert len(public) > 1 and given.keys() - {"__builtins__"} == set(public)


def test_every_error_is_a_public_name_and_every_public_name_is_there():
    raised = {name for name, thing in vars(errors).items() if isinstance(thing, type)}
    made = {"init", "join", "Communicator", "Group", "Handle", "wait_all", "wait_any"}
    assert raised | made == set(csaud.__all__)
    for name in csaud.__all__:
        assert getattr(csaud, name).__doc__, name
