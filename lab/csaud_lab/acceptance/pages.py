"""acceptance.json and the page over the reports of its parts."""

from __future__ import annotations

from pathlib import Path

from csaud_runs.errors import RunError
from csaud_runs.whole import write_whole
from csaud_topologies.report.html import page_environment
from pydantic import ValidationError

from csaud_lab.acceptance.model import Acceptance

_TEMPLATE = Path(__file__).with_name("acceptance.html.j2")
FILE = "acceptance.json"


def write(found: Acceptance, out: Path) -> Path:
    """Both files; returns the page's path."""
    write_whole(out / FILE, found.model_dump_json(indent=1) + "\n")
    page = out / "report.html"
    page.write_text(page_environment().from_string(_TEMPLATE.read_text()).render(a=found))
    return page


def read(out: Path) -> Acceptance:
    """RunError where there is none, or it is another version's."""
    file = out / FILE
    try:
        return Acceptance.model_validate_json(file.read_text())
    except FileNotFoundError:
        raise RunError(f"no {file}: `csaud lab accept` writes it") from None
    except ValidationError as error:
        raise RunError(f"{file}: not what this version writes: {error.errors()[0]['msg']}") from None
