"""Compile p4src/tna with p4c's Tofino backend: ``python p4src/compile_tna.py [--out DIR] [TARGET...]``.

p4c's compiler proper (`p4c-barefoot`) and its assembler (`bfas`) are run by the names that p4c gives them.
Each target has a folder of its own in ``--out``: the P4Runtime description, the BF-RT schema, the assembly,
the compiler's logs and, where the assembler is on PATH too, its binary and context.json.
"""

import argparse
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = "p4src/tna/csaud.p4"
COMPILER = "p4c-barefoot"
ASSEMBLER = "bfas"


@dataclass(frozen=True)
class Target:
    """A chip as the compiler names it, and the architecture that the program is written in for it."""

    name: str
    arch: str
    generation: int  # __TARGET_TOFINO__


TARGETS = {t.name: t for t in (Target("tofino", "tna", 1), Target("tofino2", "t2na", 2))}


def compile_into(folder: Path, target: Target) -> str:
    """Compile for `target`, return what the compiler said; CalledProcessError has that as its output."""
    folder.mkdir(parents=True, exist_ok=True)
    return run(
        [
            COMPILER, "--target", target.name, "--arch", target.arch, "--std", "p4-16",
            f"-D__TARGET_TOFINO__={target.generation}",
            "--p4runtime-files", str(folder / "csaud.p4info.txtpb"), "--p4runtime-force-std-externs",
            "--bf-rt-schema", str(folder / "bfrt.json"),
            "--verbose", "-o", str(folder), PROGRAM,
        ]
    )  # fmt: skip


def assemble(folder: Path, target: Target) -> str:
    """Assemble what `compile_into` left in `folder`; the same return value and errors."""
    return run([ASSEMBLER, "--target", target.name, "-o", str(folder), str(folder / "csaud.bfa")])


def run(command: list[str]) -> str:
    done = subprocess.run(
        command, cwd=HERE.parent, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode != 0:
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout)
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=HERE.parent / "build" / "tofino")
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", choices=[[], *TARGETS], help=", ".join(TARGETS)
    )
    asked = parser.parse_args()
    if unknown := set(asked.targets) - TARGETS.keys():
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    if shutil.which(COMPILER) is None:
        print(f"{COMPILER} is not on PATH: p4c was built without its Tofino backend", file=sys.stderr)
        return 1
    for name in asked.targets or TARGETS:
        folder = asked.out.resolve() / name
        try:
            said = compile_into(folder, TARGETS[name])
            if shutil.which(ASSEMBLER) is not None:
                said += assemble(folder, TARGETS[name])
        except subprocess.CalledProcessError as failed:
            print(failed.output, file=sys.stderr)
            print(f"{failed.cmd[0]} failed for {name}", file=sys.stderr)
            return 1
        (folder / "compiler.log").write_text(said)
        print(f"{name}: {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
