"""The parser, header validity and truncation."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.softswitch import programs

NO_ERROR, TOO_SHORT, UNLUCKY, INVALID_ARGUMENT = range(4)
FIRST, SECOND, THIRD = 1, 2, 4
REPORT = 6  # bytes of the report that ingress puts in front


@dataclass(frozen=True)
class Report:
    error: int
    valid: int
    length: int
    egress_length: int
    rest: bytes


def run(text: str) -> Report:
    fabric, _ = programs.loaded("parse")
    [(port, out)] = programs.send(fabric, bytes.fromhex(text))
    assert port == 1
    short = out + bytes(max(0, REPORT - len(out)))
    return Report(
        short[0], short[1], int.from_bytes(short[2:4], "big"), int.from_bytes(short[4:6], "big"), out[6:]
    )


@pytest.mark.parametrize(
    ("frame", "valid"),
    [
        ("01 00 1123 aabbccdd", FIRST | SECOND | THIRD),  # both parts of a select are as asked
        ("01 00 1124 aabbccdd", FIRST | SECOND),
        ("01 00 2155 aabbccdd", FIRST | SECOND | THIRD),  # one part under a mask
        ("01 00 2255 aabbccdd", FIRST | SECOND),
        ("02 00 aabbccdd", FIRST | THIRD),
        ("8f 00 1123 aabbccdd", FIRST | SECOND | THIRD),  # a mask of the first select
        ("90 00 aabbccdd", FIRST | THIRD),  # the ends of a range, and beyond them
        ("95 00 aabbccdd", FIRST | THIRD),
        ("96 00 aabbccdd", FIRST),
        ("77 00 aabbccdd", FIRST),
    ],
)
def test_select_takes_the_first_transition_that_matches(frame: str, valid: int) -> None:
    report = run(frame)
    assert (report.error, report.valid) == (NO_ERROR, valid)
    assert report.rest == bytes.fromhex(frame)  # parsed or not, every byte leaves again


def test_lookahead_sees_what_is_not_extracted_yet() -> None:
    assert run("03 00 00ab 0001").valid == FIRST | THIRD
    assert run("03 00 44ac 0001").valid == 0x44 | FIRST
    assert run("03 00 44ac 0001").rest == bytes.fromhex("030044ac0001")
    assert run("03 00").error == TOO_SHORT  # nothing is left to look at


def test_verify_stops_the_parser_with_the_error_of_the_program() -> None:
    assert (run("04 0d aabbccdd").error, run("04 0d aabbccdd").valid) == (UNLUCKY, FIRST)
    assert (run("04 0c aabbccdd").error, run("04 0c aabbccdd").valid) == (NO_ERROR, FIRST | THIRD)


def test_advance_skips_bytes_that_are_not_sent_again() -> None:
    report = run("05 10 1111 aabbccdd 99")
    assert (report.error, report.valid) == (NO_ERROR, FIRST | THIRD)
    assert report.rest == bytes.fromhex("0510aabbccdd99")
    assert run("05 09 1111aabbccdd").error == INVALID_ARGUMENT  # not whole bytes
    assert run("05 f8 1111").error == TOO_SHORT


@pytest.mark.parametrize("frame", ["", "02", "02 00 aabbcc", "01 00 11", "01 00 1123 aabbcc"])
def test_a_short_packet_goes_through_ingress_with_the_error_and_the_headers_before_it(frame: str) -> None:
    report = run(frame)
    assert report.error == TOO_SHORT
    assert report.valid & THIRD == 0
    assert report.rest == bytes.fromhex(frame)


def test_packet_length_follows_the_headers_that_the_program_adds_and_removes() -> None:
    report = run("02 00 aabbccdd 0102")
    assert (report.length, report.egress_length) == (8, 8 + REPORT)
    report = run("02 11 aabbccdd 0102")  # the first header goes
    assert (report.length, report.egress_length) == (8, 8 + REPORT - 2)
    assert report.rest == bytes.fromhex("aabbccdd0102")


def test_a_copied_header_is_independent_of_its_original() -> None:
    report = run("02 22 000000ff 55")
    assert report.rest == bytes.fromhex("0222 000000ff 00000100 55")


def test_a_copy_of_an_invalid_header_is_invalid() -> None:
    assert run("77 22 aabbccdd").rest == bytes.fromhex("7722aabbccdd")


def test_a_header_that_becomes_valid_again_is_all_zeros() -> None:
    assert run("02 33 aabbccdd 55").rest == bytes.fromhex("0233 00000000 55")


def test_truncate_keeps_the_smallest_length_asked_for() -> None:
    assert len(run("02 44 aabbccdd" + "00" * 40).rest) == 12 - REPORT
    assert len(run("02 55 aabbccdd" + "00" * 40).rest) == 9 - REPORT
    assert len(run("02 44 aa").rest) == 3  # shorter already
