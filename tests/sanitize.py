"""`python -m tests.sanitize [address] [thread]` (`make sanitize`): builds both native modules with sanitizers
beside the tree, in build/sanitize, and runs the tests that reach native code on them.

address: AddressSanitizer and UndefinedBehaviorSanitizer, on the tests of both cores and, in qemu guests, of
the verbs device. thread: ThreadSanitizer, on the tests in which the switch's or the host's own thread runs
beside others, but for those with gRPC in the same process, which is not built for it. Nor is Python, so
leaks are not looked for. Whatever a sanitizer says, also in a process that a test started, makes it fail.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support import overlay

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "sanitize"
PACKAGES = {"softswitch": "csaud_softswitch", "hostlib": "csaud"}
"""Folder of the native sources -> the package that their module belongs to."""
TESTNET = "csaud_testnet"
"""Module of the host's native sources that belongs to no package: tests use it in place of a network."""
OF_ONE_CORE = {"tests/softswitch/": "softswitch", "tests/hostlib/test_core_": "hostlib"}
"""Beginning of tests' names -> the folder whose module alone they import; others may import both."""
LIBRARIES = {"address": "libasan.so", "thread": "libtsan.so"}
SWITCH, HOST, VERBS = "tests/softswitch", "tests/hostlib", "tests/verbs"
SLOWER = "5"  # than without a sanitizer: what the time limits of jobs are multiplied by
TESTS = {
    "address": [
        *(f"{SWITCH}/test_core_{name}.py" for name in (
            "bursts", "compiled", "expressions", "externs", "fabric", "fuzz", "parser", "profiles",
            "program_errors", "queueing", "replication", "tables", "threads", "unwritten",
            "veth",
        )),
        *(f"{SWITCH}/test_{name}.py" for name in (
            "construct_exchanges", "stf", "taps", "p4runtime_digests", "p4runtime_idle", "p4runtime_meters",
            "p4runtime_hitless",
        )),
        *(f"{HOST}/test_core_{name}.py" for name in (
            "bitmap", "crc32", "detectors", "drops", "flow", "liveness", "malformed", "memory", "order",
            "paths", "signals", "wire", "wraparound",
        )),
        *(f"{HOST}/test_collectives_{name}.py" for name in ("group", "reductions", "schedule", "timing")),
        f"{HOST}/test_malformed_packets.py",
        *(f"{HOST}/test_device_{name}.py" for name in ("rings", "shared", "xdp")),
        # In guests, whose ranks have the sanitizer, too.
        *(f"{VERBS}/test_verbs_{name}.py" for name in ("device", "fabric", "failure", "loss", "reform")),
    ],
    "thread": [
        f"{SWITCH}/test_core_threads.py",
        f"{SWITCH}/test_core_veth.py",
        f"{SWITCH}/test_taps.py",
        f"{HOST}/test_device_counters.py",
        *(f"{HOST}/test_device_{name}.py" for name in (
            "communicator", "hosts", "jobs", "rings", "shared", "threads", "watch", "xdp",
        )),
        f"{HOST}/test_reform.py",
    ],
}  # fmt: skip


def built(kind: str, folder: str) -> dict[str, Path]:
    """The modules of a native folder, built with the sanitizer; by where they belong beside packages."""
    out = BUILD / f"{folder}-{kind}"
    configure = ["cmake", "-S", str(ROOT / folder / "native"), "-B", str(out), "-G", "Ninja",
                 f"-DPython_EXECUTABLE={sys.executable}", f"-DCSAUD_SANITIZE={kind}",
                 "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1"]  # fmt: skip
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    of_tests = [TESTNET] if folder == "hostlib" else []
    subprocess.run(["ninja", "-C", str(out), "all", *of_tests], check=True)
    places = {PACKAGES[folder]: out} | ({".": out / "testing"} if of_tests else {})
    return {place: next(built_in.glob("*.so")) for place, built_in in places.items()}


def reached(selected: list[str]) -> list[str]:
    """The folders of native sources that these tests reach."""
    folders = {
        folder
        for test in selected
        for folder in next(([f] for of, f in OF_ONE_CORE.items() if test.startswith(of)), PACKAGES)
    }
    return [folder for folder in PACKAGES if folder in folders]


def package(kind: str, sanitized: list[str]) -> Path:
    """A folder with copies of the packages; those of the `sanitized` folders have sanitized modules."""
    out = BUILD / kind
    shutil.rmtree(out, ignore_errors=True)
    for folder in sanitized:
        name = PACKAGES[folder]
        shutil.copytree(ROOT / folder / name, out / name, ignore=shutil.ignore_patterns("_core*.so"))
        for place, module in built(kind, folder).items():
            shutil.copy2(module, out / place)
    shutil.copytree(ROOT / "sim" / "csaud_sim", out / "csaud_sim")
    as_installed = importlib.import_module("csaud_sim._core").__file__  # what only imports need
    assert as_installed is not None
    shutil.copy2(as_installed, out / "csaud_sim")
    return out


def library(name: str) -> str:
    """Where the compiler has it."""
    done = subprocess.run(["g++", f"-print-file-name={name}"], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def run(kind: str, selected: list[str]) -> int:
    """pytest's status, or 1 when a sanitizer had something to say."""
    sanitized = reached(selected)
    copies = package(kind, sanitized)
    said = BUILD / f"said-{kind}"
    for old in BUILD.glob(f"said-{kind}.*"):
        old.unlink()
    folders = [copies, *overlay.sources(ROOT)]
    environment = {
        **os.environ,
        **overlay.environment(folders),
        "CSAUD_SLOWER": SLOWER,
        "LD_PRELOAD": f"{library(LIBRARIES[kind])} {library('libstdc++.so')}",
        "ASAN_OPTIONS": f"detect_leaks=0:log_path={said}",
        "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={said}",
        "TSAN_OPTIONS": f"exitcode=66:second_deadlock_stack=1:log_path={said}",
    }
    as_they_are = "setarch", "-R"  # addresses, which ThreadSanitizer wants without randomization
    modules = [f"{PACKAGES[folder]}._core" for folder in sanitized]
    for module in [*modules, TESTNET] if "hostlib" in sanitized else modules:
        overlay.check(environment, module, copies, *as_they_are)
    argv = [*as_they_are, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *selected]
    status = subprocess.run(argv, cwd=ROOT, env=environment).returncode
    for report in sorted(BUILD.glob(f"said-{kind}.*")):
        print(f"--- {report}\n{report.read_text()[:4000]}", file=sys.stderr)
        status = status or 1
    return status


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sanitize", description=__doc__)
    parser.add_argument("kinds", nargs="*", choices=[*LIBRARIES, []], help="both unless told otherwise")
    parser.add_argument("--test", action="append", help="instead of the usual ones; may be repeated")
    given = parser.parse_args()
    kinds = given.kinds or list(LIBRARIES)
    return max(run(kind, given.test or TESTS[kind]) for kind in kinds)


if __name__ == "__main__":
    sys.exit(main())
