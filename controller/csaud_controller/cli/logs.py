"""What is logged, for people or for programs: with `json` one object a line."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer


class LogFormat(StrEnum):
    """Of each line."""

    TEXT = "text"
    JSON = "json"


LogOption = Annotated[
    LogFormat, typer.Option("--log-format", help="Of the log: text, or json, one object a line.")
]


class JsonLines(logging.Formatter):
    """`time` (UTC, RFC 3339), `level`, `logger`, `message`, and `exception` where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        said = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        return json.dumps(said, ensure_ascii=False)


def start_log(form: LogFormat) -> None:
    """To stderr, from INFO on."""
    handler = logging.StreamHandler()
    text = logging.Formatter("%(asctime)s %(levelname)s %(message)s")
    handler.setFormatter(JsonLines() if form is LogFormat.JSON else text)
    logging.basicConfig(level=logging.INFO, handlers=[handler])
