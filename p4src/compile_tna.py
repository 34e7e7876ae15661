"""Compile p4src/tna with p4c's Tofino backend: ``python p4src/compile_tna.py [--describe] [TARGET...]``.

p4c's compiler proper (`p4c-barefoot`) and its assembler (`bfas`) are run by the names that p4c gives them.
Each target has a folder of its own in ``--out``: P4Runtime description, BF-RT schema, and in ``pipe/`` the
assembly, the compiler's logs and, where the assembler is on PATH too, the binary and its context.json.

The P4Runtime descriptions are committed, `artifacts/<target>/csaud.p4info.txtpb`, because p4c is in no
package registry; `artifacts/tna.digest.json` ties them to their sources, a test compares. Both are renewed
when all targets are compiled, or by ``--describe``, which ends where the descriptions are written. Where
there is no such compiler, ``--by-hand`` records that they were edited for sources that were not compiled.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = "p4src/tna/csaud.p4"
ARTIFACTS = HERE / "artifacts"
DESCRIPTION = "csaud.p4info.txtpb"
SOURCES = "sources.sha256"
"""In a target's folder: which sources were compiled there to the end."""
COMPILER = "p4c-barefoot"
ASSEMBLER = "bfas"


@dataclass(frozen=True)
class Target:
    """A chip as the compiler names it, the architecture that the program is written in for it, its size."""

    name: str
    arch: str
    generation: int  # __TARGET_TOFINO__
    stages: int  # of each pipeline's match-action unit


TARGETS = {t.name: t for t in (Target("tofino", "tna", 1, 12), Target("tofino2", "t2na", 2, 20))}


class DoesNotFit(RuntimeError):
    """The compiler was content, the chip would not be."""


class LostSelect(RuntimeError):
    """The compiler was content, but its parser does not do what the program says."""


def compile_into(folder: Path, target: Target, source: Path = HERE) -> str:
    """Compile `source` (a folder like p4src) for `target`, return what the compiler said.

    CalledProcessError has that as its output.
    """
    return run(_command(folder, target), source)


def describe_into(folder: Path, target: Target, source: Path = HERE) -> str:
    """The same as far as the P4Runtime description and the BF-RT schema."""
    return run([*_command(folder, target), "--skip-compilation", "pipe"], source)


def _command(folder: Path, target: Target) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    return [
        COMPILER, "--target", target.name, "--arch", target.arch, "--std", "p4-16",
        f"-D__TARGET_TOFINO__={target.generation}",
        "--p4runtime-files", str(folder / DESCRIPTION), "--p4runtime-force-std-externs",
        "--bf-rt-schema", str(folder / "bfrt.json"),
        "-g", "-o", str(folder), PROGRAM,
    ]  # fmt: skip


def assembly(folder: Path) -> Path:
    """Where `compile_into` leaves what it compiled."""
    return folder / "pipe" / "csaud.bfa"


def assemble(folder: Path, target: Target) -> str:
    """Assemble what `compile_into` left in `folder`; the same return value and errors."""
    code = assembly(folder)
    return run([ASSEMBLER, "--target", target.name, "-o", str(code.parent), str(code)])


def stages_taken(folder: Path) -> dict[str, int]:
    """How many stages the program takes of each side of the pipeline.

    p4c lays out more than there are without calling it an error.
    """
    taken: dict[str, int] = {}
    for stage, side in re.findall(r"^stage (\d+) (\w+):", assembly(folder).read_text(), flags=re.M):
        taken[side] = max(taken.get(side, 0), int(stage) + 1)
    return taken


def check_fit(folder: Path, target: Target) -> dict[str, int]:
    """`stages_taken`; DoesNotFit when they are more than the chip has."""
    taken = stages_taken(folder)
    if beyond := {side: n for side, n in taken.items() if n > target.stages}:
        raise DoesNotFit(f"{target.name} has {target.stages} stages, the program takes {beyond}")
    return taken


def check_parsers(folder: Path) -> int:
    """How many states of the parsers choose their way by something.

    LostSelect when none does, or a way cannot be chosen because one before it is chosen by the same: p4c was
    so between its pull requests 5063 and 5753, and took the first way of every state.
    """
    parsers = re.findall(r"^parser \w+:\n(?:[ \t].*\n|\n)*", assembly(folder).read_text(), flags=re.M)
    chosen = 0
    for state in (s for parser in parsers for s in re.split(r"^    (?=\S)", parser, flags=re.M)[1:]):
        chosen += len(re.findall(r"^      match:", state, flags=re.M))
        ways = re.findall(r"^      ([\dx*a-fA-F]+):", state, flags=re.M)
        if len(set(ways)) < len(ways):
            raise LostSelect(f"state {state.split(':')[0]} of the parser has two ways for {ways[0]}")
    if parsers and not chosen:
        raise LostSelect("no state of the parsers chooses its way by anything")
    return chosen


def run(command: list[str], source: Path = HERE) -> str:
    done = subprocess.run(
        command, cwd=source.parent, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode != 0:
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout)
    return done.stdout


def source_digest() -> str:
    """SHA-256 over the names and the code of every P4 source of the program.

    Without comments and line breaks, which no description depends on.
    """
    digest = hashlib.sha256()
    for path in sorted([*HERE.glob("shared/*.p4"), *HERE.glob("tna/*.p4")]):
        code = re.sub(r"//[^\n]*", "", path.read_text())
        digest.update(f"{path.relative_to(HERE).as_posix()}\0{' '.join(code.split())}\0".encode())
    return digest.hexdigest()


def artifact_digests(folder: Path = ARTIFACTS) -> dict[str, str]:
    """SHA-256 of each target's description."""
    return {name: hashlib.sha256((folder / name / DESCRIPTION).read_bytes()).hexdigest() for name in TARGETS}


def version() -> str:
    """Of p4c's Tofino backend, as the compiler says it."""
    return run([COMPILER, "--version"]).split("Version")[1].strip()


def record(out: Path) -> None:
    """Take the descriptions of all targets over into the repository."""
    for name in TARGETS:
        (ARTIFACTS / name).mkdir(exist_ok=True)
        shutil.copyfile(out / name / DESCRIPTION, ARTIFACTS / name / DESCRIPTION)
    written = {"sources": source_digest(), "artifacts": artifact_digests(), "p4c-barefoot": version()}
    (ARTIFACTS / "tna.digest.json").write_text(json.dumps(written, indent=2) + "\n")


def record_by_hand() -> None:
    """The committed descriptions were brought up to date without the compiler: they are of these sources.

    `compiled` stays what p4c's Tofino backend last compiled.
    """
    path = ARTIFACTS / "tna.digest.json"
    before = json.loads(path.read_text())
    written = {"sources": source_digest(), "artifacts": artifact_digests()} | {
        "by": "hand",
        "compiled": before.get("compiled", before["sources"]),
        "p4c-barefoot": before["p4c-barefoot"],
    }
    path.write_text(json.dumps(written, indent=2) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=HERE.parent / "build" / "tofino")
    parser.add_argument("--describe", action="store_true", help="P4Info and BF-RT schema alone")
    parser.add_argument(
        "--by-hand", action="store_true", help="record that the committed descriptions were edited by hand"
    )
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", choices=[[], *TARGETS], help=", ".join(TARGETS)
    )
    asked = parser.parse_args()
    if asked.by_hand:
        record_by_hand()
        return 0
    if shutil.which(COMPILER) is None:
        print(f"{COMPILER} is not on PATH: p4c was built without its Tofino backend", file=sys.stderr)
        return 1
    out = asked.out.resolve()
    for name in asked.targets or TARGETS:
        folder, target = out / name, TARGETS[name]
        try:
            said = (describe_into if asked.describe else compile_into)(folder, target)
            taken = {} if asked.describe else check_fit(folder, target)
            if not asked.describe:
                check_parsers(folder)
            if shutil.which(ASSEMBLER) is not None and not asked.describe:
                said += assemble(folder, target)
        except subprocess.CalledProcessError as failed:
            print(failed.output, file=sys.stderr)
            print(f"{failed.cmd[0]} failed for {name}", file=sys.stderr)
            return 1
        except DoesNotFit as failed:
            print(failed, file=sys.stderr)
            return 1
        except LostSelect as failed:
            print(
                f"{name}: {failed}: this p4c loses them (fixed by p4c's pull request 5753)", file=sys.stderr
            )
            return 1
        (folder / "compiler.log").write_text(said)
        if not asked.describe:
            (folder / SOURCES).write_text(source_digest())
        print(f"{name}: {folder}", *(f"{n} {side} stages" for side, n in taken.items()), sep=", ")
    if not asked.targets:
        record(out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
