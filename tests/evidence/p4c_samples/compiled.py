"""p4c's v1model samples, compiled."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

COMPILER = "p4c-bm2-ss"
LIMIT_S = 120.0


class NotCompilable(ValueError):
    """p4c refuses the sample; the text is its first complaint."""


def samples(folder: Path) -> list[Path]:
    """Those that include v1model.p4, by name."""
    wanted = re.compile(r'#\s*include\s*[<"](?:\S*/)?v1model\.p4[>"]')
    return [path for path in sorted(folder.glob("*.p4")) if wanted.search(path.read_text(errors="replace"))]


def compile_sample(source: Path, folder: Path) -> tuple[Path, Path]:
    """(JSON, P4Info) in `folder`, where they are kept: a sample is compiled once. NotCompilable when p4c
    refuses it.
    """
    program, info = folder / f"{source.stem}.json", folder / f"{source.stem}.p4info.txtpb"
    refused = folder / f"{source.stem}.refused"
    if refused.exists():
        raise NotCompilable(refused.read_text())
    if program.exists() and info.exists():
        return program, info
    made = folder / f"{source.stem}.made.json"
    command = [COMPILER, "--p4v", "16", "--p4runtime-files", str(info), "-o", str(made), str(source)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
        complaint = "" if done.returncode == 0 else _first_error(done.stderr)
    except subprocess.TimeoutExpired:
        complaint = f"p4c took more than {LIMIT_S:.0f} s"
    if not complaint and not info.exists():
        complaint = "p4c wrote no P4Info"
    if complaint:
        refused.write_text(complaint)
        raise NotCompilable(complaint)
    made.rename(program)
    return program, info


def _first_error(printed: str) -> str:
    lines = printed.splitlines()
    wanted = re.compile(r"error: (?!\d+ errors)|syntax error|BUG")
    found = next((line for line in lines if wanted.search(line)), lines[0] if lines else "")
    return found.partition("error: ")[2] or found
