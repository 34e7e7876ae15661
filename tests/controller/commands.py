"""The command's nouns, run in this process on the run of a directory."""

import json

from csaud_controller.cli import (
    alarm,
    controller,
    counter,
    drain,
    ecn,
    fabric,
    fault,
    limit,
    link,
    path,
    policy,
    top,
)
from csaud_controller.cli import signal as signals
from csaud_controller.run.directory import RunDir
from typer.testing import CliRunner, Result

APPS = {
    "fabric": fabric.app,
    "path": path.app,
    "policy": policy.app,
    "signal": signals.app,
    "limit": limit.app,
    "ecn": ecn.app,
    "alarm": alarm.app,
    "fault": fault.app,
    "counter": counter.app,
    "drain": drain.app,
    "link": link.app,
    "top": top.app,
    "undrain": drain.undrain_app,
    "controller": controller.app,
}


def csaud(run: RunDir | str, *words: str) -> Result:
    directory = str(run.path) if isinstance(run, RunDir) else run
    return CliRunner(env={"COLUMNS": "160"}).invoke(APPS[words[0]], [*words[1:], "--run", directory])


def as_json(run: RunDir, *words: str) -> object:
    result = csaud(run, *words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)
