"""Connections between ranks with and without a job secret: who is let in, and what each side is told."""

import logging
import os
import ssl
from pathlib import Path

import pytest
from csaud.config.settings import Settings
from csaud.errors import ConfigError
from csaud.network import channels, job_secret
from csaud.network.channels import Channel, NotAuthenticated, open_channel
from csaud.network.frames import BadFrame, Message

SECRET = "correct horse battery staple"
HELLO: Message = {"type": "hello", "qkey": 0x13572468}


def end(secret: str, listening: bool) -> Channel:
    return open_channel(job_secret.of_secret(secret) if secret else None, listening=listening, limit=65536)


class Line:
    """Two ends joined; keeps what went over the wire, and what each end got or failed by."""

    def __init__(self, connecting: Channel, listening: Channel) -> None:
        self._ends = (connecting, listening)
        self.wire = b""
        self.got: tuple[list[Message], list[Message]] = ([], [])
        self.errors: list[str] = ["", ""]

    def run(self, piece: int = 1 << 20) -> None:
        """Until both are silent; bytes arrive in pieces of at most `piece`."""
        silent = 0
        while silent < 2:
            silent = 0
            for mine, end in enumerate(self._ends):
                data = end.outgoing()
                silent += not data
                self.wire += data
                for at in range(0, len(data), piece):
                    self._deliver(1 - mine, data[at : at + piece])

    def _deliver(self, to: int, data: bytes) -> None:
        if self.errors[to]:
            return  # it has closed the connection
        try:
            self.got[to].extend(self._ends[to].feed(data))
        except NotAuthenticated as error:
            self.errors[to] = str(error)


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
@pytest.mark.parametrize("secret", ["", SECRET])
def test_messages_both_ways_in_any_pieces(secret: str, piece: int) -> None:
    connecting, listening = end(secret, False), end(secret, True)
    line = Line(connecting, listening)
    connecting.send(HELLO)  # before the other end is known
    line.run(piece)
    listening.send({"type": "table", "cards": list(range(5000))})
    listening.send(HELLO)
    line.run(piece)
    assert line.got[1] == [HELLO]
    assert line.got[0] == [{"type": "table", "cards": list(range(5000))}, HELLO]
    assert line.errors == ["", ""]
    assert (b"qkey" in line.wire) == (not secret)


@pytest.mark.parametrize(
    ("connecting", "listening", "told_connecting", "told_listening"),
    [
        (SECRET, SECRET + "!", channels.ANOTHER, channels.ANOTHER),
        (SECRET, "", channels.WITHOUT, channels.WITH),
        ("", SECRET, channels.WITH, channels.WITHOUT),
    ],
)
@pytest.mark.parametrize("piece", [1, 1 << 20])
def test_both_sides_are_told_what_differs(
    connecting: str, listening: str, told_connecting: str, told_listening: str, piece: int
) -> None:
    ends = end(connecting, False), end(listening, True)
    line = Line(*ends)
    for one in ends:
        one.send(HELLO)
    line.run(piece)
    assert line.got == ([], [])
    assert line.errors[0].startswith(told_connecting)
    assert line.errors[1].startswith(told_listening)


def test_one_that_takes_whatever_it_is_shown_is_not_let_in() -> None:
    """It has to show that it has the secret, too."""
    ours, theirs = job_secret.of_secret(SECRET), job_secret.of_secret("a stranger's own secret")
    trusting = job_secret.Credentials(client=theirs.client, server=ours.server)
    trusting.client.verify_mode = ssl.CERT_NONE
    stranger, listening = open_channel(trusting, listening=False), open_channel(ours, listening=True)
    stranger.send(HELLO)
    line = Line(stranger, listening)
    line.run()
    assert line.got == ([], [])
    assert line.errors[1].startswith(channels.ANOTHER)


@pytest.mark.parametrize("listening", [True, False])
@pytest.mark.parametrize("secret", ["", SECRET])
def test_bytes_of_nobody_end_in_an_error(secret: str, listening: bool) -> None:
    for first in range(256):
        channel = end(secret, listening)
        channel.outgoing()
        with pytest.raises(BadFrame):
            channel.feed(bytes([first]) + b"\xff" * 70_000)


def test_changed_bytes_are_found() -> None:
    connecting, listening = end(SECRET, False), end(SECRET, True)
    Line(connecting, listening).run()
    connecting.send(HELLO)
    data = bytearray(connecting.outgoing())
    data[-1] ^= 1
    with pytest.raises(NotAuthenticated):
        listening.feed(bytes(data))


def test_a_frame_that_is_too_long_is_refused_under_tls_too() -> None:
    connecting = end(SECRET, False)
    listening = open_channel(job_secret.of_secret(SECRET), listening=True, limit=100)
    Line(connecting, listening).run()
    connecting.send({"type": "x" * 200})
    with pytest.raises(BadFrame, match="100 are allowed"):
        listening.feed(connecting.outgoing())


# --- where the secret comes from


def test_no_secret_no_credentials() -> None:
    assert job_secret.credentials(Settings()) is None


def test_a_secret_or_a_file_with_it(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(SECRET + "\n")
    file.chmod(0o600)
    assert job_secret.credentials(Settings(secret_file=str(file))) is job_secret.of_secret(SECRET)
    assert job_secret.credentials(Settings(secret=SECRET)) is job_secret.of_secret(SECRET)


def test_a_file_that_others_may_read_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "secret"
    file.write_text(SECRET)
    file.chmod(0o644)
    with caplog.at_level(logging.WARNING):
        job_secret.credentials(Settings(secret_file=str(file)))
    assert str(file) in caplog.text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"secret": "short"}, "secret: a secret of 5 characters"),
        ({"secret": SECRET, "secret_file": os.devnull}, "both set"),
        ({"secret_file": "/nonexistent/secret"}, "cannot read /nonexistent/secret: No such file"),
        ({"secret_file": os.devnull}, "secret_file: a secret of 0 characters"),
    ],
)
def test_what_cannot_be_a_secret(given: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        job_secret.credentials(Settings(**given))


def test_a_secret_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    from csaud.config.reading import sources

    assert SECRET not in repr(Settings(secret=SECRET))
    assert SECRET not in repr(sources({"CSAUD_SECRET": SECRET}))
    with pytest.raises(ConfigError) as error:
        job_secret.credentials(Settings(secret=SECRET[:8]))
    assert SECRET[:8] not in str(error.value)
