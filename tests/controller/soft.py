"""Real P4Runtime servers for the controller's tests: embedded switches on memory links, in this process or
another."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from csaud_controller.control.client import wait_programmed
from csaud_controller.control.fabric_controller import FabricController
from csaud_controller.desired.keeper import Save
from csaud_controller.desired.states import desired_states
from csaud_controller.desired.store import Stored
from csaud_controller.inventory import Fabric, leaf_spine
from csaud_controller.paths.live import ALL_UP, LiveView
from csaud_controller.policy.intent import Intent
from csaud_controller.program.artifacts import Artifacts, find_artifacts
from csaud_controller.program.entities import TableState
from csaud_controller.run.directory import RunDir
from csaud_controller.targets import TARGETS
from csaud_runs.children import ends_with_this_process
from csaud_softswitch.fabric_file import read_fabric_file
from csaud_softswitch.hosting import SwitchHost, SwitchOptions, host_fabric
from csaud_softswitch.p4runtime.personality import Personality

CONTROLLER = (sys.executable, "-m", "csaud_controller")
SWITCHES = (sys.executable, str(Path(__file__).with_name("soft_process.py")))
PATIENCE_S = 120.0


@contextmanager
def run_directory(fabric: Fabric | None = None) -> Iterator[RunDir]:
    """A run directory with a fabric.json; its path is short enough for unix sockets, unlike pytest's
    tmp_path."""
    with tempfile.TemporaryDirectory(prefix="csaud-") as name:
        run = RunDir(Path(name))
        fabric = fabric or leaf_spine(2, 2)
        run.fabric_file.write_text(fabric.model_copy(update={"links_via": "memory"}).to_json())
        yield run


@asynccontextmanager
async def switches(run: RunDir, personality: Personality | None = None) -> AsyncIterator[SwitchHost]:
    """The run's switches in this process, reachable through `host.fabric` beside P4Runtime."""
    options = SwitchOptions(personality=personality)
    host = host_fabric(read_fabric_file(run.fabric_file), run.path, options, host_ports="memory")
    await host.start()
    try:
        yield host
    finally:
        await host.stop()


@asynccontextmanager
async def controller(
    run: RunDir,
    *,
    fabric: Fabric | None = None,
    artifacts: Artifacts | None = None,
    stored: Stored | None = None,
    probe_interval_s: float = 0.0,
    audit_s: float = 60.0,
    target: str = "soft",
    save: Save = lambda stored: None,
    save_fabric: Callable[[Fabric], None] = lambda fabric: None,
    in_place: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.time,
    steady: Callable[[], float] = time.monotonic,
) -> AsyncIterator[FabricController]:
    """A controller of the run's switches in this process, without its control socket."""
    made = FabricController(
        fabric or run.fabric(),
        artifacts or find_artifacts(),
        TARGETS[target],
        stored=stored,
        save=save,
        save_fabric=save_fabric,
        probe_interval_s=probe_interval_s,
        audit_s=audit_s,
        in_place=in_place,
        clock=clock,
        steady=steady,
    )
    running = asyncio.create_task(made.run())
    try:
        yield made
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def programmed(made: FabricController) -> None:
    """Until every switch holds what is desired now."""
    pending = await made.wait_applied(made.generation, PATIENCE_S)
    assert pending == {}, pending


def desired(
    run: RunDir, intent: Intent | None = None, live: LiveView = ALL_UP, target: str = "soft"
) -> dict[str, TableState]:
    fabric = run.fabric()
    states = desired_states(fabric, intent or Intent(), live)
    return {name: TARGETS[target].adapt(state, fabric) for name, state in states.items()}


class Process:
    """A child that is killed, not asked, at the end of the test."""

    def __init__(self, *command: str, log: Path) -> None:
        self._log = log
        with log.open("ab") as file:
            self._child = subprocess.Popen(
                command, stdout=file, stderr=file, preexec_fn=ends_with_this_process()
            )

    def kill(self) -> None:
        if self._child.poll() is None:
            os.kill(self._child.pid, signal.SIGKILL)
            self._child.wait()

    def wait(self) -> int:
        return self._child.wait(PATIENCE_S)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def log(self) -> str:
        return self._log.read_text()

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def switch_process(run: RunDir) -> Process:
    """All switches of the run in a process of their own."""
    return Process(*SWITCHES, str(run.path), log=run.path / "switches.log")


def controller_process(run: RunDir, *options: str) -> Process:
    """`csaud controller run` for the run."""
    return Process(*CONTROLLER, "run", "--run", str(run.path), *options, log=run.path / "controller.log")


@contextmanager
def programmed_run() -> Iterator[RunDir]:
    """A run of two leaves and two spines, in processes, whose switches hold their tables."""
    with run_directory() as run, switch_process(run), controller_process(run):
        wait_programmed(run.control_socket, PATIENCE_S)
        yield run
