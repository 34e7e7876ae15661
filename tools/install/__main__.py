"""python -m tools.install run: what running needs, native code compiled; then
sim: the simulator, too; test: what tests need, too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036, said before what older ones do not have is imported
    sys.exit(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}: try make PYTHON=python3.12")

from tools.install import debian
from tools.install.commands import Commands, InstallError
from tools.install.progress import Progress
from tools.install.python import Environment

EXTRAS = {"run": ["emulation"], "sim": ["emulation", "sim"], "test": ["emulation", "sim", "lab", "test"]}
"""Those of pyproject.toml, for each purpose."""


def install(root: Path, purpose: str) -> None:
    """Everything that is missing; what does not depend on each other at once."""
    commands = Commands(root / "build")
    with Progress() as progress:
        environment = Environment(root / "build/venv", root, commands, progress)
        simulator = purpose != "run" or environment.has_simulator()
        testnet = purpose == "test" or environment.has_testnet()
        native = purpose == "run" or not environment.has_simulator()
        for_venv, for_modules = debian.for_python()
        lacking = debian.missing([*for_venv, *for_modules, *debian.PACKAGES[purpose]])
        others = [name for name in lacking if name not in for_venv]
        if lacking:
            debian.update(commands, progress)
        debian.install(for_venv, commands, progress)
        with ThreadPoolExecutor() as pool:
            parts: list[Future[None]] = []

            def at_once(part: Callable[[], None], *after: Future[None]) -> Future[None]:
                def wait_and_run() -> None:
                    for other in after:
                        other.result()
                    part()

                parts.append(pool.submit(wait_and_run))
                return parts[-1]

            debian_there = at_once(lambda: debian.install(others, commands, progress))
            tools_there = at_once(environment.make)
            at_once(lambda: environment.install(EXTRAS[purpose]), tools_there)
            compiled = [debian_there, tools_there]
            if native:
                compiled.append(at_once(lambda: environment.build(simulator), *compiled))
            if testnet:
                at_once(environment.build_testnet, *compiled)
            try:
                for part in as_completed(parts):
                    part.result()
            except BaseException:
                commands.stop()
                raise
        if native:
            environment.add()
            progress.line("csaud is installed" + (", with the simulator" if simulator else ""))


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.install", description=__doc__)
    parser.add_argument("purpose", choices=list(debian.PACKAGES))
    purpose = parser.parse_args().purpose
    try:
        install(Path.cwd(), purpose)
    except InstallError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; the next run goes on from here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
