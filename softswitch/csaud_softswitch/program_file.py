"""A program from files: the JSON that p4c makes for BMv2 and, for P4Runtime, its P4Info in protobuf text
format.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from google.protobuf import text_format

from csaud_softswitch.p4runtime.device import Device
from csaud_softswitch.p4runtime.errors import P4RuntimeError, core_errors
from csaud_softswitch.p4runtime.proto import p4i, p4r


class ProgramFileError(ValueError):
    """A program file cannot be read, or its program cannot be run; the message names the file and the
    reason.
    """


def read_config(program: Path, p4info: Path) -> p4r.ForwardingPipelineConfig:
    """The pipeline config of two files; its cookie is the first 8 bytes of the SHA-256 over both."""
    json_text, info_text = _read(program), _read(p4info)
    info = p4i.P4Info()
    try:
        text_format.Parse(info_text, info)
    except text_format.ParseError as error:
        raise ProgramFileError(f"{p4info}: not a P4Info in text format: {error}") from error
    digest = hashlib.sha256(info_text.encode() + json_text.encode()).digest()
    config = p4r.ForwardingPipelineConfig(p4info=info, p4_device_config=json_text.encode())
    config.cookie.cookie = int.from_bytes(digest[:8], "big")
    return config


def program_digest(program: Path) -> str:
    """SHA-256 of the program's JSON, hexadecimal: says of which program a recording is."""
    return hashlib.sha256(_read(program).encode()).hexdigest()


def install(device: Device, program: Path, p4info: Path | None) -> None:
    """Load a program into a device; with its P4Info it is the device's committed pipeline config."""
    try:
        if p4info is None:
            text = _read(program)
            with core_errors():
                device.switch.load(text)
        else:
            action = p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
            device.pipelines.set_config(action, read_config(program, p4info))
    except P4RuntimeError as error:
        raise ProgramFileError(f"{program}: {error.message}") from error


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise ProgramFileError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ProgramFileError(f"{path}: not a text file: {error.reason}") from error
