"""What commands say, and with which status they end, where nothing can be done or nothing is to be done."""

import asyncio
from collections.abc import Iterator

import pytest
from csaud_controller.cli import controller
from csaud_controller.control.client import ControlError
from csaud_controller.control.here import Here
from csaud_controller.run.directory import RunDir

from tests.controller.commands import as_json, csaud
from tests.controller.soft import programmed_run, run_directory


@pytest.fixture(scope="module")
def run() -> Iterator[RunDir]:
    with programmed_run() as made:
        yield made


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("path", "show", "h1", "h99"), 2, "unknown host 'h99'; expected one of h1, h2, h3, h4"),
        (("signal", "set", "drop", "--at", "l1:9"), 2, "switch l1 has no port 9"),
        (("signal", "set", "drop", "--at", "core"), 2, "unknown place 'core'; expected one of uplinks, all"),
        (("signal", "set"), 2, "nothing to set"),
        (("signal", "set", "--size", "4215"), 2, "expected a size of at most 4214 bytes, a frame at"),
        (("signal", "set", "--size", "9000", "--at", "l1"), 2, "expected a size of at most 4214 bytes"),
        (("signal", "set", "shout"), 2, "shout"),
        (("signal", "clear", "--at", "l1:9"), 2, "switch l1 has no port 9"),
        (("limit", "set", "--trim-at", "20", "--drop-at", "10"), 2, "expected at most drop_at (10), got 20"),
        (("limit", "set", "--trim-at", "250"), 2, "in a buffer of 256 packets, at l1:1"),
        (("limit", "set"), 2, "nothing to set"),
        (("limit", "clear", "--at", "l9"), 2, "unknown place 'l9'"),
        (("ecn", "clear", "--at", "l9"), 2, "unknown place 'l9'"),
        (("ecn", "set", "4"), 2, "expected LOW and HIGH, or --off"),
        (("ecn", "set", "9", "4"), 2, "expected at most high (4), got 9"),
        (("ecn", "show", "l9"), 2, "unknown switch 'l9'"),
        (("policy", "set"), 2, "nothing to set"),
        (("policy", "set", "--cls", "1"), 2, "--cls needs --spray"),
        (("policy", "set", "--spray", "ecmp", "--cls", "9"), 2, "Invalid value for"),
        (("policy", "set", "--spray", "ecmp", "--to", "s9"), 2, "unknown switch 's9'; expected one of l1"),
        (("policy", "set", "--spray", "ecmp", "--to", "s1"), 2, "expected a switch with hosts, got s1"),
        (("policy", "set", "--spray", "sideways"), 2, "sideways"),
        (("policy", "set", "--spray", "flowlet", "--gap", "soon"), 2, "a duration such as 10us"),
        (("policy", "weights", "l1", "l2", "1=1"), 2, "a weight for each of its ports there (1=W 2=W)"),
        (("policy", "weights", "l1", "l2", "1:1"), 2, "expected PORT=WEIGHT with whole numbers"),
        (("policy", "weights", "l1", "l2", "1=\u00b2"), 2, "expected PORT=WEIGHT with whole numbers"),
        (("policy", "weights", "l1", "l9", "1=1"), 2, "unknown destination 'l9'"),
        (("policy", "weights", "--derived"), 2, "expected SWITCH DST PORT=W..., such as l1 l3 1=3 2=1"),
        (("policy", "queues", "\u00b2=1"), 2, "expected DSCP=QUEUE with whole numbers, such as 26=3"),
        (("policy", "hosts", "--classes", "\u00b2"), 2, "expected classes from 0 to 7 such as 0,2-4"),
        (("policy", "hosts", "--at", "l1"), 2, "--at is of --classes, or of --clear"),
        (("policy", "hosts", "--clear", "--classes", "1"), 2, "expected --classes or --clear, not both"),
        (("policy", "diff"), 2, "expected FILE or --revision, one of them"),
        (("policy", "diff", "night.yaml", "--revision", "0"), 2, "expected FILE or --revision, one of them"),
        (("policy", "diff", "--revision", "9"), 2, "no revision 9 is kept; expected one from 0 to 0"),
        (("policy", "rollback", "9"), 2, "no revision 9 is kept; expected one from 0 to 0"),
        (("link", "show", "zz"), 2, "unknown link, switch or host 'zz'; expected a link such as l1-s1"),
        (("link", "grey", "--off", "--default"), 2, "expected numbers and times, or --off, or --default"),
        (("link", "grey", "--loss", "0.1", "--default"), 2, "or --off, or --default"),
        (("link", "grey", "--loss", "0.1", "--off"), 2, "or --off, or --default"),
        (("link", "damping", "--off", "--default"), 2, "or --off, or --default"),
        (("link", "damping", "--half-life", "9s", "--default"), 2, "or --off, or --default"),
        (("link", "damping", "--half-life", "9s", "--off"), 2, "or --off, or --default"),
        (("link", "damping", "--half-life", "soon"), 2, "--half-life: expected a duration such as 10us"),
        (("link", "damping", "--reuse", "2500"), 2, "reuse: expected less than suppress, 2500; got 2500"),
        (("link", "grey", "--every", "soon"), 2, "--every: expected a duration such as 10us, 5ms or 2s"),
        (("drain", "l1-s1", "--wait", "soon"), 2, "--wait: expected a duration such as 10us, 5ms or 2s"),
        (("drain", "l1:\u00b2"), 2, "switch l1 has no port \u00b2; expected one of 1, 2, 3, 4"),
        (("drain", "l1:1:2"), 2, "switch l1 has no port 1:2; expected one of 1, 2, 3, 4"),
        (("undrain",), 2, "expected LINK, SWITCH or HOST, or --all"),
        (("undrain", "l1-s1", "--all"), 2, "expected LINK, SWITCH or HOST, or --all"),
        (("limit", "set", "--alarm-interval", "1s", "--at", "l1"), 2, "--at is of limits; the alarm's"),
        (("fabric", "plan", "/nonexistent/fabric.yaml"), 2, "no such file"),
        (("fabric", "plan", "leaf-spine-2x2"), 2, "leaf-spine-2x2: no such file"),
        (("fault", "set", "0.1", "--where", "s1-s2"), 2, "unknown link 's1-s2'; expected one of l1-s1"),
        (("fault", "set", "0.1", "--kinds", "date"), 2, "unknown kind date; expected some of other, data"),
        (("fault", "set", "1.5"), 2, "Invalid value for"),
        (("fault", "clear", "--where", "l1:9"), 2, "switch l1 has no port 9"),
        (("policy", "clear", "--to", "l9"), 2, "unknown switch 'l9'"),
        (("policy", "hosts", "--clear", "--at", "l9"), 2, "unknown place 'l9'"),
        (("policy", "weights", "l1", "l9", "--derived"), 2, "unknown destination 'l9'"),
        (("undrain", "l9"), 2, "unknown link, switch or host 'l9'"),
        (("counter", "show", "s9"), 2, "unknown switch 's9'; expected one of l1, l2, s1, s2"),
        (("controller", "run", "--target", "hardware"), 2, "unknown target 'hardware'; expected one of soft"),
        (("controller", "run", "--tls-cert", "a"), 2, "--tls-cert and --tls-key belong together: give both"),
        (("controller", "run", "--tls-cert", "a", "--tls-key", "b"), 1, "a controller already runs"),
        (("controller", "run", "--reports", "9600"), 2, "--reports: expected HOST:PORT such as"),
        (("controller", "run", "--reports", ":9600"), 2, "--reports: expected HOST:PORT"),
        (("controller", "run", "--reports", "[::1]:0"), 2, "--reports: expected HOST:PORT"),
        (("controller", "run", "--reports", "[::1]:65536"), 2, "--reports: expected HOST:PORT"),
        (("controller", "run", "--reports", "[::1]:65535"), 1, "a controller already runs"),
        (("controller", "run", "--reports-from", "10.0.1.1/24"), 2, "10.0.1.1/24 has host bits set"),
        (("controller", "run", "--reports-from", "10.0.1.0/24"), 1, "a controller already runs"),
        (("controller", "run", "--store", "etcd://a:0"), 2, "--store: expected etcd://HOST:PORT"),
        (("controller", "run", "--policy", "/nonexistent/x.yaml"), 2, "/nonexistent/x.yaml: no such file"),
        (("controller", "run"), 1, "a controller already runs"),
    ],
)  # fmt: skip
def test_mistakes(run: RunDir, words: tuple[str, ...], status: int, message: str) -> None:
    result = csaud(run, *words)
    assert result.exit_code == status, result.output
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("path", "allow", "5"), "5 was not denied"),
        (("path", "allow", "5", "7"), "5, 7 were not denied"),
        (("path", "allow", "--all"), "it was so already"),
        (("undrain", "l1-s1"), "l1-s1 was not drained"),
        (("undrain", "--all"), "nothing was drained"),
        (("fault", "clear"), "no fault is set"),
        (("fault", "clear", "--where", "l1:1"), "no fault is set for l1:1; there is: none"),
        (("limit", "clear"), "it was so already"),
        (("limit", "clear", "--at", "l1"), "no limits are set at l1; there are: none"),
        (("ecn", "clear", "--at", "l1"), "nothing is set at l1; there is: none"),
        (("signal", "clear", "--at", "l1:1"), "there is no such exception; those set: none"),
        (("policy", "clear", "--cls", "5"), "there is no such exception; those set: none"),
        (("policy", "hosts", "--clear", "--at", "l1:3"), "no classes are set at l1:3; there are: none"),
        (("policy", "weights", "l1", "--derived"), "it was so already"),
        (("policy", "queues", "--clear"), "it was so already"),
        (("link", "damping", "--default"), "it was so already"),
    ],
)
def test_what_holds_already_is_no_failure_and_no_revision(
    run: RunDir, words: tuple[str, ...], said: str
) -> None:
    before = Here(run).ask("intent")
    result = csaud(run, *words)
    assert result.exit_code == 0, result.output
    assert "nothing changed" in result.output
    assert said in result.output
    assert as_json(run, *words)["changed"] is False
    assert Here(run).ask("intent") == before


@pytest.mark.parametrize(
    ("words", "back", "said"),
    [
        (("path", "deny", "3"), ("path", "allow", "3"), "3 was denied already"),
        (("limit", "set", "--trim-at", "9"), ("limit", "clear"), "it was so already"),
        (("drain", "l1-s1"), ("undrain", "l1-s1"), "it was so already"),
        (("fault", "set", "0.5"), ("fault", "clear"), "it was so already"),
        (("ecn", "set", "3", "5"), ("ecn", "clear"), "it was so already"),
        (("signal", "set", "drop"), ("signal", "set", "trim"), "it was so already"),
    ],
)
def test_the_same_twice_is_told(
    run: RunDir, words: tuple[str, ...], back: tuple[str, ...], said: str
) -> None:
    try:
        assert as_json(run, *words)["changed"] is True
        again = csaud(run, *words)
        assert again.exit_code == 0
        assert "nothing changed" in again.output
        assert said in again.output
    finally:
        assert csaud(run, *back).exit_code == 0


def test_a_revision_that_is_not_in_force_any_more_is_a_failure_and_no_misuse(run: RunDir) -> None:
    file = run.path / "late.yaml"
    file.write_text("spray: random\n")
    wanted = run.path / "wanted.json"
    wanted.write_bytes((run.path / "fabric.json").read_bytes())
    revision = str(Here(run).ask("intent")["revision"] + 1)
    for words in (("policy", "apply", str(file)), ("fabric", "apply", str(wanted))):
        late = csaud(run, *words, "--revision", revision)
        assert late.exit_code == 1, late.output
        assert "it was changed meanwhile" in late.output


@pytest.mark.parametrize(
    "words", [("fabric", "show"), ("path", "show", "h1", "h2"), ("policy", "show"), ("fault", "show")]
)
def test_without_a_controller(words: tuple[str, ...]) -> None:
    with run_directory() as empty:
        result = csaud(empty, *words)
        assert result.exit_code == 1
        assert "csaud: no controller runs" in result.output


@pytest.mark.parametrize("words", [("fabric", "show"), ("counter", "show"), ("controller", "status")])
def test_without_a_run(words: tuple[str, ...]) -> None:
    nowhere = "/nonexistent/" + "x" * 200  # one line of output, however long
    result = csaud(nowhere, *words)
    assert result.exit_code == 1
    assert f"csaud: {nowhere} is not the directory of a run" in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ecn", "set", "9", "3"), "csaud: ecn.low: expected at most high (3), got 9"),
        (("ecn", "set", "9", "3", "--at", "l1"), "csaud: ecn_at.l1.low: expected at most high (3), got 9"),
        (
            ("limit", "set", "--trim-at", "50", "--drop-at", "10"),
            "csaud: limits.trim_at: expected at most drop_at (10), got 50",
        ),
        (
            ("policy", "set", "--spray", "flowlet", "--gap", "0us"),
            "csaud: flowlet_gap: expected at least 1us, got 0ns",
        ),
        (
            ("policy", "set", "--spray", "random", "--dst", "fd00::/64"),
            "csaud: dst: expected a valid IPv4 network",
        ),
        (
            ("controller", "run", "--probe-interval", "x"),
            "csaud: --probe-interval: expected a duration such as 10us, 5ms or 2s, got 'x'",
        ),
    ],
)
def test_a_value_that_cannot_be_is_told_by_its_key(run: RunDir, words: tuple[str, ...], said: str) -> None:
    result = csaud(run, *words)
    assert (result.exit_code, result.output.strip()) == (2, said)


def test_an_error_of_a_task_group_is_told_by_itself() -> None:
    async def fail(*errors: Exception) -> None:
        raise ExceptionGroup("serving", [ExceptionGroup("inner", errors)])

    with pytest.raises(ControlError, match="a controller already runs"):
        asyncio.run(controller._serve(fail(ControlError("a controller already runs"))))
    with pytest.raises(ExceptionGroup) as both:  # what is no error of the user's stays whole
        asyncio.run(controller._serve(fail(ControlError("expected"), KeyError("a mistake of ours"))))
    assert both.group_contains(KeyError)


def test_a_spray_mode_that_is_not_there_is_a_usage_error_of_the_controller(run: RunDir) -> None:
    result = csaud(run, "controller", "run", "--spray", "x")
    assert result.exit_code == 2
    assert "'x' is not one of 'ecmp', 'entropy'" in result.output
