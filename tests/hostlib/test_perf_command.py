"""`csaud perf` from end to end on the loopback interface: that it runs, what it writes, how it fails. No time
is judged.
"""

import csv
import json
import os
import re
import subprocess
import sys

import pytest
from csaud.cli import command as cli

from tests.hostlib.jobs import ROOT, free_port, loopback_address
from tests.support.marks import thorough

PATIENCE = 200.0  # s
QUICK = ["--iterations", "20", "--warmup", "1"]


def perf(*words, environ=None):
    """The command's exit status, output and errors."""
    argv = [sys.executable, "-m", "csaud", "perf", *map(str, words)]
    done = subprocess.run(
        argv, cwd=ROOT, env=os.environ | (environ or {}), capture_output=True, text=True, timeout=PATIENCE
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(("test", "mode"), [("bandwidth", "auto"), thorough("latency", "udp")])
def test_between_two_ranks(test, mode, tmp_path):
    out = tmp_path / "rows.json"
    # 3 MB are two of the transport's messages
    code, lines, errors = perf(test, "--ranks", 2, "--sizes", "0,65,3M", *QUICK, "--json", out,
                               environ={"CSAUD_MODE": mode})  # fmt: skip
    assert code == 0, errors
    rows = json.loads(out.read_text())
    assert [(row["size"], row["iterations"], row["wrong"]) for row in rows] == [
        (size, 20, 0) for size in (0, 65, 3 << 20)
    ]
    assert all(0 < row["t_min"] <= row["p50"] <= row["t_max"] and row["p99_99"] is None for row in rows)
    assert len(lines.splitlines()) == 2 + 3


@pytest.mark.parametrize(
    "test",
    [
        "allreduce",
        *map(thorough, ("alltoall", "incast", "reducescatter", "allgather", "broadcast", "permutation")),
    ],
)
def test_collectives(test, tmp_path):
    table, picture = tmp_path / "new" / "rows.csv", tmp_path / "plot.svg"
    plot = ["--plot", picture] if test == "allreduce" else []
    code, _, errors = perf(test, "--ranks", 3, "--sizes", "100,40K", "--type", "int32", "--iterations", 5,
                           "--csv", table, *plot)  # fmt: skip
    assert code == 0, errors
    with table.open() as file:
        rows = list(csv.DictReader(file))
    # an all-to-all has as many elements for each of the three ranks
    sizes = [96, 40_956] if test in ("alltoall", "reducescatter", "allgather") else [100, 40_960]
    assert [int(row["size"]) for row in rows] == sizes
    assert {row["wrong"] for row in rows} == {"0"}
    assert not plot or picture.read_text().startswith("<?xml")


@pytest.mark.parametrize(("binds", "mode"), [(False, "auto"), thorough(True, "auto"), thorough(False, "udp")])
def test_a_server_takes_the_clients_plan(binds, mode, tmp_path):
    """With --bind, and as documented without: rank 0 learns from the client where it can be reached."""
    address, out = loopback_address(), tmp_path / "rows.json"
    port = free_port(address if binds else "0.0.0.0")
    argv = [sys.executable, "-m", "csaud", "perf", "server", "--port", str(port)]
    argv += ["--bind", address] if binds else []
    environ = {"CSAUD_MODE": mode}
    with subprocess.Popen(
        argv, cwd=ROOT, text=True, env=os.environ | environ, stderr=subprocess.PIPE
    ) as server:
        try:
            assert server.stderr is not None
            place = f"{address if binds else '0.0.0.0'}:{port}"
            assert server.stderr.readline() == f"waits for csaud perf client at {place}\n"
            code, _, errors = perf("client", address, "--port", port, "--test", "latency", "--sizes", 8,
                                   *QUICK, "--json", out, environ=environ)  # fmt: skip
            assert code == 0, errors
            assert errors.startswith(f"waits for csaud perf server at {address}:{port}\n")
            assert server.wait(PATIENCE) == 0
        finally:
            server.kill()
    assert [row["size"] for row in json.loads(out.read_text())] == [8]


@pytest.mark.parametrize(
    ("words", "environ", "message"),
    [
        (["allreduce"], {}, "needs at least two ranks: start it with torchrun or mpirun, or use --ranks"),
        (["allreduce", "--ranks", "1"], {}, "--ranks 1: expected 2 to 1024"),
        (["latency", "--ranks", "2"], {"RANK": "0"}, "a launcher"),
        (["latency", "--ranks", "3", "--sizes", "8"], {}, "is between two ranks, this job has 3"),
        (["latency", "--ranks", "2"], {"CSAUD_MODE": "fast"}, "CSAUD_MODE='fast': expected one of"),
        (["incast", "--sizes", "4X"], {}, "size '4X': expected bytes such as 64"),
        (["allreduce", "--ranks", "2", "--type", "int3"], {}, "type 'int3': expected one of"),
        (["client", "nowhere.invalid"], {}, "HOST='nowhere.invalid': no IP address is known"),
        (["server", "--bind", "nowhere.invalid"], {}, "--bind='nowhere.invalid': no IP address is known"),
        (["allreduce", "--ranks", "2", "--op", "and"], {}, "op='and' is not supported for float32"),
        (["allreduce", "--ranks", "2", "--op", "mean"], {}, "op='mean': expected one of sum"),
        (
            ["allreduce", "--ranks", "2", "--plot", "p.doc"],
            {},
            "--plot p.doc: expected a name that ends in .",
        ),
        (
            ["client", "nowhere.invalid", "--plot", "p.doc"],
            {},
            "--plot p.doc: expected a name that ends in .",
        ),
        (["client", "127.0.0.1", "--test", "both"], {}, "expected bandwidth or latency"),
        (["allreduce", "--ranks", "2", "--csv", "/"], {}, "--csv /: is a folder, expected a file"),
        (
            ["client", "nowhere.invalid", "--json", "/dev/null/x"],
            {},
            "--json /dev/null/x: /dev/null is no folder",
        ),
    ],
)
def test_mistaken_use_is_told_in_one_line(words, environ, message, monkeypatch, capfd):
    monkeypatch.setattr(sys, "argv", ["csaud", "perf", *words])
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    printed, errors = capfd.readouterr()
    assert (ended.value.code, printed) == (2, "")
    assert re.fullmatch(r"csaud: .*\n", errors) and message in errors


@pytest.mark.parametrize(
    ("words", "package", "message"),
    [
        (["--type", "bfloat16"], "ml_dtypes", "type bfloat16 needs the package ml_dtypes"),
        (["--plot", "p.svg"], "matplotlib.backend_bases", "--plot needs matplotlib (pip install matplotlib)"),
    ],
)
def test_a_package_that_is_missing_is_named_before_anything_is_measured(
    words, package, message, monkeypatch, capfd
):
    monkeypatch.setattr(sys, "argv", ["csaud", "perf", "allreduce", "--ranks", "2", *words])
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert (ended.value.code, *capfd.readouterr()) == (1, "", f"csaud: {message}\n")


def test_a_file_that_cannot_be_written_is_named():
    code, _, errors = perf("incast", "--ranks", 2, "--sizes", 64, *QUICK, "--json", "/proc/none/rows.json")
    assert code == 1
    assert errors == "csaud: rank 0: cannot write /proc/none/rows.json: No such file or directory\n"
