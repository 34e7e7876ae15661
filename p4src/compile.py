"""Compile the programs with p4c and record what they were compiled from: ``python p4src/compile.py``.

The compiled artifacts are committed, because p4c is in no package registry; `artifacts/csaud.digest.json`
ties them to their sources, and a test compares.
"""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = "p4src/v1model/csaud.p4"
ARTIFACTS = HERE / "artifacts"


def source_digest() -> str:
    """SHA-256 over the names and bytes of every P4 source of the program, in the order of their names."""
    digest = hashlib.sha256()
    for path in sorted([*HERE.glob("shared/*.p4"), *HERE.glob("v1model/*.p4")]):
        digest.update(path.relative_to(HERE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def artifact_digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each compiled file by name."""
    names = ("csaud.json", "csaud.p4info.txtpb")
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


def compile_into(folder: Path) -> None:
    """Run p4c; raises CalledProcessError with p4c's own words on stderr."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            "p4c-bm2-ss", "--arch", "v1model",
            "--p4runtime-files", str(folder / "csaud.p4info.txtpb"),
            "-o", str(folder / "csaud.json"),
            PROGRAM,
        ],
        cwd=HERE.parent,
        check=True,
    )  # fmt: skip


def main() -> int:
    if shutil.which("p4c-bm2-ss") is None:
        print("p4c-bm2-ss is not on PATH; the committed artifacts stay as they are", file=sys.stderr)
        return 1
    compile_into(ARTIFACTS)
    asked = subprocess.run(["p4c-bm2-ss", "--version"], capture_output=True, text=True, check=True)
    version = asked.stdout + asked.stderr
    record = {
        "sources": source_digest(),
        "artifacts": artifact_digests(ARTIFACTS),
        "p4c": next(line for line in version.splitlines() if "Version" in line).split("Version")[1].strip(),
    }
    (ARTIFACTS / "csaud.digest.json").write_text(json.dumps(record, indent=2) + "\n")
    print(f"compiled with p4c {record['p4c']}; sources {record['sources'][:12]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
