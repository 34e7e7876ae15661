"""The settings table: where values come from, and what a wrong one is told."""

from math import isinf

import pytest
from csaud import _core
from csaud.config import reading, settings
from csaud.errors import ConfigError
from csaud.start.endpoint import apply_settings, window


def test_an_argument_wins_over_the_environment_and_that_over_the_default():
    environ = {"CSAUD_WINDOW": "64", "CSAUD_PATHS": "4"}
    values = reading.load({"window": 128}, environ)
    assert (values.window, values.paths, values.spray) == (128, 4, 0)


@pytest.mark.parametrize(
    ("text", "expected"), [("1", True), ("yes", True), ("off", False), ("False", False), ("0", False)]
)
def test_flags_are_read_as_words(text, expected):
    assert reading.load({}, {"CSAUD_ORDERED": text}).ordered is expected


@pytest.mark.parametrize(("value", "expected"), [(True, True), (False, False), (1, True), (0, False)])
def test_flags_are_given_as_such_or_as_numbers(value, expected):
    assert (
        reading.load({"ordered": value}, {"CSAUD_ORDERED": "no" if expected else "yes"}).ordered is expected
    )


@pytest.mark.parametrize(
    ("overrides", "environ", "message"),
    [
        ({}, {"CSAUD_WINDOW": "many"}, r"CSAUD_WINDOW='many': expected a whole number \(packets\)"),
        ({}, {"CSAUD_WINDOW": "-1"}, r"CSAUD_WINDOW='-1': expected 0 to 512 \(packets\)"),
        ({}, {"CSAUD_DEAD_AFTER": "nan"}, "CSAUD_DEAD_AFTER='nan': expected a number"),
        ({}, {"CSAUD_MODE": "tcp"}, "CSAUD_MODE='tcp': expected one of auto, raw, udp"),
        ({}, {"CSAUD_ORDERED": "maybe"}, "CSAUD_ORDERED='maybe': expected yes or no"),
        ({"window": 1.5}, {}, "window=1.5: expected a whole number"),
        ({"window": True}, {}, "window=True: expected a whole number"),
        ({"dead_after": True}, {}, r"dead_after=True: expected a number \(s\)"),
        ({"address": 5}, {}, "address=5: expected text"),
        ({"ordered": 2}, {}, "ordered=2: expected yes or no"),
        ({"window": float("inf")}, {}, "window=inf: expected a whole number"),
        ({"dead_after": 1e300}, {}, r"dead_after=1e\+300: expected 0.05 to 1000000.0"),
        ({"rate_bps": 10**20}, {}, "rate_bps=10+: expected 0 to 10+ "),
        ({"rx_buffer": 10**30}, {}, "rx_buffer=10+: expected 4096 to 2147483647"),
        ({"queue_max": 0}, {}, "queue_max=0: expected 1e-06 to 10"),
        ({"windw": 3}, {}, "there is no setting 'windw'; did you mean window?"),
        (
            {},
            {"CSAUD_WINDW": "3"},
            "CSAUD_WINDW is set, .*; did you mean CSAUD_WINDOW?",
        ),
    ],
)
def test_a_wrong_value_is_named_with_what_was_expected(overrides, environ, message):
    with pytest.raises(ConfigError, match=message):
        reading.load(overrides, environ)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("window", 0, 512),
        ("shared_window", 1, 65535),
        ("paths", 1, 16384),
        ("batch", 1, 256),
        ("mtu", 0, 4096),
    ],
)
def test_packets_may_go_one_by_one_and_by_the_most_that_there_can_be(name, least, most):
    for value in (least, most):
        assert getattr(reading.load({name: value}, {}), name) == value
    for value in (least - 1, most + 1):
        with pytest.raises(ConfigError, match=f"{name}={value}: expected {least} to {most}"):
            reading.load({name: value}, {})


def test_numbers_are_accepted_up_to_their_bounds_and_no_further():
    for name, field in settings.FIELDS.items():
        low, high = field.metadata["low"], field.metadata["high"]
        for bound, beyond in ((low, low - 1), (high, high + 1)):
            if type(field.default) not in (int, float) or isinf(bound):
                continue
            assert getattr(reading.load({name: bound}, {}), name) == bound
            with pytest.raises(ConfigError, match=f"{name}=.*: expected {low} to {high} "):
                reading.load({name: beyond}, {})


def test_variables_of_other_programs_with_the_prefix_are_left_alone():
    assert reading.load({}, {"CSAUD_RUN": "/run/csaud/x"}) == settings.Settings()


def test_every_row_has_a_unit_and_help():
    for name, field in settings.FIELDS.items():
        assert field.metadata["unit"] and field.metadata["help"], name


def test_the_display_names_the_source_of_each_value():
    rows = {row[0]: row for row in reading.sources({"CSAUD_MTU": "1024"})}
    assert rows["mtu"][1:3] == (1024, "CSAUD_MTU")
    assert rows["paths"][1:3] == (16, "default")


def test_the_core_begins_with_what_a_job_has_that_sets_nothing() -> None:
    """What is measured of the core alone is so that of a job."""
    core, chosen = _core.EndpointConfig(), settings.Settings()
    same = "shared_window", "paths", "spray", "ordered", "ecn"
    assert {name: getattr(core, name) for name in same} == {name: getattr(chosen, name) for name in same}
    assert core.window == window(chosen, core.path_mtu)
    assert core.detect_loss and core.detect_gap and core.detect_interval and core.detect_probe
    assert core.path_policy == _core.PathPolicy[chosen.path_policy]
    assert settings.FIELDS["path_policy"].metadata["choices"] == tuple(_core.PathPolicy.__members__)
    assert (core.queue_max, core.dead_after) == (chosen.queue_max * 1e9, chosen.dead_after * 1e9)


@pytest.mark.parametrize(("path_mtu", "packets"), [(4096, 32), (1448, 91), (256, 512)])
def test_a_window_has_as_many_bytes_whatever_the_path_mtu_unless_it_was_given(path_mtu, packets):
    config = _core.EndpointConfig()
    config.path_mtu = path_mtu
    apply_settings(config, settings.Settings())
    assert config.window == packets
    apply_settings(config, settings.Settings(window=7))
    assert config.window == 7


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ([64, 64, 64], ""),
        ([32, 64], "32 at rank 0, 64 at rank 1"),
        ([32, 64, 32], "32 at rank 0 and rank 2, 64 at rank 1"),
        ([8, *[9] * 8], "8 at rank 0, 9 at {}, rank 7 and rank 8"),
        ([8, *[9] * 9], "8 at rank 0, 9 at {}, rank 7, rank 8 and 1 more"),
    ],
)
def test_who_has_which_of_what_differs_is_told(chosen, told):
    values = {f"rank {rank}": {"window": window, "epoch": 3} for rank, window in enumerate(chosen)}
    told = told.format("rank 1, rank 2, rank 3, rank 4, rank 5, rank 6")
    assert settings.differing(values) == (told and f"window must be the same at every rank: {told}")


def test_an_epoch_that_nobody_asked_for_differs_from_none():
    assert settings.differing({"a": {"epoch": 0}, "b": {"epoch": 5}, "c": {"epoch": 5}}) == ""
    both = settings.differing({"a": {"epoch": 4, "paths": 1}, "b": {"epoch": 5, "paths": 2}})
    words = "{} must be the same at every rank: {}"
    assert both.split("; ") == [
        words.format("epoch", "4 at a, 5 at b"),
        words.format("paths", "1 at a, 2 at b"),
    ]
