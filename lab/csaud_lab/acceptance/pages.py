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
PAGE = "report.html"


def write(found: Acceptance, out: Path) -> Path:
    """Both files; returns the page's path."""
    write_whole(out / FILE, found.model_dump_json(indent=1) + "\n")
    page = out / PAGE
    page.write_text(page_environment().from_string(_TEMPLATE.read_text()).render(a=found))
    return page


def clear(out: Path) -> None:
    """Remove both: an acceptance that breaks off has no verdict, not even that of the one before."""
    for name in (FILE, PAGE):
        (out / name).unlink(missing_ok=True)


def read(out: Path) -> Acceptance:
    """RunError where there is none, or it is another version's."""
    file = out / FILE
    try:
        return Acceptance.model_validate_json(file.read_text())
    except FileNotFoundError:
        raise RunError(f"no {file}: `csaud lab accept` writes it") from None
    except ValidationError as error:
        raise RunError(f"{file}: not what this version writes: {error.errors()[0]['msg']}") from None
