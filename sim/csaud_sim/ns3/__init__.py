"""The engine whose time ns-3 keeps, built on this machine.

ns-3 is GPL-2.0-only. Neither it nor what is linked with it comes along: `build` makes it for whoever runs it,
from PyPI's `ns3` as installed here (docs/simulation.md, "With ns-3").
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = HERE / "engine.cpp"


class Unavailable(RuntimeError):
    """ns-3, or what builds the engine, is not here; the message says what, and how to get it."""


def installation() -> Path:
    """The folder of PyPI's `ns3` with its headers and libraries: CSAUD_NS3, or that of this Python.

    Raises:
        Unavailable: there is none.
    """
    said = os.environ.get("CSAUD_NS3")
    if said:
        found = Path(said)
    else:
        spec = importlib.util.find_spec("ns3")
        places = list(spec.submodule_search_locations or []) if spec else []
        if not places:
            raise Unavailable(
                "ns-3 is not installed: pip install --no-deps ns3 (or CSAUD_NS3=folder of its installation)"
            )
        found = Path(places[0])
    if not (found / "include" / "ns3" / "simulator.h").is_file():
        raise Unavailable(f"{found} has no include/ns3/simulator.h: not an installation of PyPI's ns3")
    return found


def _headers() -> Path:
    """With the package where it is installed, in its native part in a checkout."""
    installed = HERE / "include"
    return installed if installed.is_dir() else HERE.parents[1] / "native"


def default_path() -> Path:
    """Where the engine is built unless something else is said."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "csaud" / "engine_ns3.so"


def build(into: Path | None = None) -> Path:
    """Compile the engine; what was there is replaced once it is done.

    Raises:
        Unavailable: no ns-3, no compiler, or it does not compile; the message has the compiler's words.
    """
    root = installation()
    core = next((root / "lib64").glob("libns3*-core.so"), None)
    if core is None:
        raise Unavailable(f"{root / 'lib64'} has no libns3*-core.so")
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        raise Unavailable("there is no C++ compiler: install g++, or set CXX")
    target = into or default_path()
    target.parent.mkdir(parents=True, exist_ok=True)
    made = target.with_name(f"{target.name}.{os.getpid()}")
    command = [
        compiler, "-std=c++20", "-O2", "-fPIC", "-shared", "-o", str(made), str(SOURCE),
        f"-I{_headers()}", "-isystem", str(root / "include"), str(core),
        f"-Wl,-rpath,{core.parent}", "-Wl,--allow-shlib-undefined",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        made.unlink(missing_ok=True)
        raise Unavailable(f"the engine does not compile with {root}:\n{done.stderr.strip()}")
    made.replace(target)
    return target
