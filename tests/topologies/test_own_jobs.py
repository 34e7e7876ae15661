"""A user's own program in a fabric: `csaud net up`, `job` and `down`."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess

import pytest
from csaud_runs.find import all_runs
from csaud_topologies.cli import app
from typer.testing import CliRunner

from tests.support.marks import thorough
from tests.topologies.fabrics import OUTSIDE, WaitingFabric, waiting_fabric
from tests.topologies.runs import CSAUD_NET, PATIENCE_S, processes_of, wait_for

pytestmark = [pytest.mark.root, pytest.mark.xdist_group("own_jobs")]


@pytest.fixture(scope="module")
def fabric(tmp_path_factory):
    with waiting_fabric(tmp_path_factory.mktemp("fabric"), "leaf-spine-2x2") as fabric:
        yield fabric


def test_ranks_run_on_hosts_with_torchruns_variables_and_are_shown_with_their_number(fabric):
    program = (
        "import csaud, numpy as np, os, socket, sys\n"
        "with csaud.init() as comm:\n"
        "    total = comm.all_reduce(np.full(20_000, comm.rank + 1.0, np.float32))\n"
        "    print(comm.size, total[-1], os.getcwd(), os.environ['GLOO_SOCKET_IFNAME'], os.environ['MINE'])\n"
        "print('aside', file=sys.stderr)\n"
    )
    done = fabric.python(program, ("--ranks", "3"), env={**OUTSIDE, "MINE": "kept"})
    assert done.returncode == 0, done.stderr
    hosts = {0: "h1", 1: "h3", 2: "h2"}  # ring neighbours on different leaves
    expected = {f"[rank {rank}] 3 6.0 {fabric.folder} {host}-eth0 kept" for rank, host in hosts.items()}
    assert expected <= set(done.stdout.splitlines())
    assert {f"[rank {rank}] aside" for rank in hosts} <= set(done.stderr.splitlines())
    assert "aside" in (fabric.out / "logs" / "rank1.log").read_text()


@pytest.mark.parametrize(
    ("how", "status", "said"),
    [("exit 7", 7, "exit status 7"), thorough("kill -9 $$", 137, "killed by SIGKILL")],
    ids=["exit", "kill"],
)
def test_the_exit_status_is_that_of_the_first_rank_that_failed(fabric, how, status, said):
    script = f"if [ $RANK = 1 ]; then {how}; else trap 'exit 9' TERM; sleep 1000 & wait; fi"
    done = fabric.job("sh", "-c", script, options=("--placement", "h2,h4"))
    assert done.returncode == status
    assert f"csaud: rank 1 (h4) failed first: {said}; then rank 0 (exit status 9)" in done.stderr


@pytest.mark.thorough
def test_a_time_limit_ends_the_job_in_good_order(fabric):
    script = "trap 'echo asked to end; exit 3' TERM; sleep 1000 & wait"
    done = fabric.job("sh", "-c", script, options=("--ranks", "2", "--time-limit", "2s"))
    assert done.returncode == 124
    assert "csaud: the job was not done after 2 s (--time-limit) and was ended; logs: " in done.stderr
    assert {"[rank 0] asked to end", "[rank 1] asked to end"} <= set(done.stdout.splitlines())
    assert fabric.report().program.ranks[0].ended == "exit status 3"


@pytest.mark.thorough
@pytest.mark.parametrize("where", [(), ("--host", "h2")], ids=["switches", "host"])
def test_commands_for_the_fabric_work_inside_it_too(fabric, where):
    inside = ("exec", *where, "--", "csaud", "net")
    done = fabric.net(*inside, "exec", "--host", "h3", "--", "ip", "-o", "addr", "show", "dev", "h3-eth0")
    assert done.returncode == 0, done.stderr
    assert " inet " in done.stdout
    done = fabric.net(*inside, "job", "--ranks", "2", "--", "sh", "-c", "echo $RANK of $WORLD_SIZE")
    assert done.returncode == 0, done.stderr
    assert {"[rank 0] 0 of 2", "[rank 1] 1 of 2"} <= set(done.stdout.splitlines())


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="Open MPI is not installed (openmpi-bin)")
def test_mpirun_reaches_the_hosts_by_net_exec(fabric):
    program = (
        "import csaud, numpy as np, sys\n"
        "with csaud.init() as comm:\n"
        "    total = comm.all_reduce(np.full(1000, comm.rank + 1.0))[0]\n"
        "    sys.stdout.write(f'rank {comm.rank} of {comm.size} {total}\\n')\n"  # in one piece, never mixed
    )
    script = fabric.folder / "program.py"
    script.write_text(program)
    agent = "csaud net exec --shell --host"
    mpirun = ("mpirun", "--allow-run-as-root", "--host", "h1,h3", "--mca", "plm_rsh_agent", agent)
    variables = ("-x", "MASTER_ADDR=h1", "-x", "MASTER_PORT=29700")
    done = fabric.net("exec", "--host", "h1", "--", *mpirun, *variables, "python", str(script))
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()) == ["rank 0 of 2 3.0", "rank 1 of 2 3.0"]


def test_the_report_has_the_books_and_can_be_printed_again(fabric):
    program = (
        "import csaud, numpy as np\n"
        "with csaud.init() as comm:\n"
        "    for _ in range(5): comm.all_reduce(np.ones(50_000, np.float32))\n"
        "    with_others = comm.split(comm.rank % 2, 0); with_others.barrier()\n"
        "comm = csaud.init(); comm.all_reduce(np.ones(10, np.float32))\n"  # not closed
    )
    done = fabric.python(program)
    assert done.returncode == 0, done.stdout + done.stderr
    report = fabric.report()
    assert report.passed and report.books.balanced
    assert report.all_reduce.count == 6 and report.all_reduce.bytes == 200_000
    assert report.recovery.sent > 0 and report.flows.count > 0
    assert [rank.counters for rank in report.program.ranks] == ["closed, ended"] * 4
    assert report.run.ranks == ["h1", "h3", "h2", "h4"]
    again = fabric.net("report")
    assert again.returncode == 0
    assert "passed: all" in again.stdout and f"{fabric.out}/report.html" in again.stdout
    assert fabric.net("report", "--out", "nowhere").returncode == 2


@pytest.mark.thorough
def test_a_rank_that_is_killed_leaves_the_books_incomplete(fabric):
    program = (
        "import csaud, os\n"
        "comm = csaud.init(dead_after=1)\n"
        "comm.barrier()\n"
        "if comm.rank == 2: os.kill(os.getpid(), 9)\n"
        "comm.barrier()\n"
    )
    done = fabric.python(program)
    assert done.returncode == 137
    assert "rank 2 (h2) failed first: killed by SIGKILL" in done.stderr
    assert "PeerUnreachable" in done.stderr
    report = fabric.report()
    assert report.books.without == [2] and not report.books.balanced and not report.passed
    assert [rank.counters for rank in report.program.ranks] == ["failed", "failed", "", "failed"]
    assert "incomplete: rank 2 used the fabric and left no final counters" in done.stdout


@pytest.mark.parametrize("memory", ["auto", thorough("off")])
def test_the_books_of_several_ranks_a_host_balance_without_what_passes_inside_it(fabric, memory):
    program = (
        "import csaud, numpy as np, os, subprocess, sys\n"
        "if 'OF_TWO' not in os.environ:\n"
        "    first, world = 2 * int(os.environ['RANK']), str(2 * int(os.environ['WORLD_SIZE']))\n"
        "    more = [{'RANK': str(first + n), 'WORLD_SIZE': world, 'OF_TWO': '1'} for n in range(2)]\n"
        "    run = lambda of: subprocess.Popen([sys.executable, *sys.orig_argv[1:]], env=os.environ | of)\n"
        "    both = [run(each) for each in more]\n"
        "    sys.exit(max(each.wait() for each in both))\n"
        "with csaud.init() as comm: assert comm.all_reduce(np.ones(50_000))[-1] == 4\n"
    )
    done = fabric.python(program, ("--ranks", "2"), env={**OUTSIDE, "CSAUD_SHARED_MEMORY": memory})
    assert done.returncode == 0, done.stdout + done.stderr
    report = fabric.report()
    assert report.passed and report.books.balanced and not report.books.empty
    inside = [sum(host[f"{way}_inside_data"] for host in report.hosts) for way in ("tx", "rx")]
    assert inside[0] == inside[1] > 2 * 50_000 * 8 / 4096


def test_a_job_goes_on_without_as_many_ranks_as_may_die(fabric):
    program = (
        "import csaud, numpy as np, os\n"
        "comm = csaud.init(dead_after=1)\n"
        "comm.barrier()\n"
        "if comm.rank == 1: os.kill(os.getpid(), 9)\n"
        "try: comm.barrier()\n"
        "except csaud.PeerUnreachable: comm = comm.shrink()\n"
        "total = comm.all_reduce(np.ones(1000))\n"
        "comm.close()\n"
        "print(comm.size, total[-1])\n"
    )
    done = fabric.python(program, ("--ranks", "3", "--deaths", "1"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "csaud: rank 1 (h3) failed: killed by SIGKILL; the others go on (--deaths)" in done.stderr
    assert {"[rank 0] 2 2.0", "[rank 2] 2 2.0"} <= set(done.stdout.splitlines())
    report = fabric.report()
    assert report.passed and (report.program.deaths, report.program.epochs) == (1, 2)
    assert report.books.without == [1]
    assert [rank.status for rank in report.program.ranks] == [0, 137, 0]
    # one too many: the first of them counts
    done = fabric.job(
        "sh", "-c", "[ $RANK = 0 ] || kill -9 $$; exec true", options=("--ranks", "3", "--deaths", "1")
    )
    assert done.returncode == 137 and "failed first: killed by SIGKILL; then rank" in done.stderr
    assert not fabric.report().passed
    done = fabric.job("true", options=("--ranks", "2", "--deaths", "2"))
    assert (done.returncode, done.stderr) == (
        2,
        "csaud: --deaths 2: the job has 2 ranks, and one has to be left\n",
    )


@pytest.mark.thorough
def test_a_program_without_csaud_has_a_report_without_books(fabric):
    done = fabric.job("ping", "-c", "1", "h1")
    assert done.returncode == 0, done.stderr
    assert "[rank 3] 1 packets transmitted, 1 received" in done.stdout
    assert "no switch saw a CSA-UD packet" in done.stdout
    assert fabric.report().books.empty


@pytest.mark.thorough
def test_one_job_at_a_time_and_ctrl_c_ends_all_its_ranks(fabric):
    job = fabric.start_job("import os, time; print('here', os.getppid()); time.sleep(1000)")
    try:
        lines = [job.stdout.readline() for _ in range(4)]
        assert {line.split("here")[0] for line in lines} == {f"[rank {rank}] " for rank in range(4)}
        second = fabric.job("true")
        assert second.returncode == 1
        assert "a job runs in this fabric: `" in second.stderr and f"(pid {job.pid})" in second.stderr
        os.killpg(job.pid, signal.SIGINT)
        rest = job.stdout.read()
        assert job.wait(PATIENCE_S) == 128 + signal.SIGINT
        assert rest.count("KeyboardInterrupt") == 4
    finally:
        job.kill()
    assert fabric.job("true").returncode == 0


def test_ranks_end_with_the_command_that_started_them(fabric):
    job = fabric.start_job("import time; print('here'); time.sleep(1000)", "--ranks", "1")
    assert "here" in job.stdout.readline()
    job.kill()
    job.wait()
    job.stdout.read()  # ends when no rank holds it any more
    job.stdout.close()
    held = fabric.net("exec", "--", "flock", "-w", "60", f"{all_runs()[0].path}/job.lock", "true")
    assert held.returncode == 0, held.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("job",), "no program named"),
        (("job", "--ranks", "5", "--", "true"), "--ranks 5: leaf-spine-2x2 has 4 hosts"),
        (("job", "--placement", "h1,h9", "--", "true"), "--placement h1,h9: unknown host 'h9'"),
        (("job", "--placement", "sideways", "--", "true"), "--placement sideways: "),
        (("job", "--time-limit", "soon", "--", "true"), "--time-limit soon: expected a duration such as"),
        (("job", "--time-limit", "0s", "--", "true"), "--time-limit 0s: expected a time of more than 0"),
        (("job", "--", "no-such-program"), "no-such-program: no such program"),
        (("exec", "--host", "h9", "--", "true"), "--host h9: no such node in this fabric"),
        (("up", "nothing"), "nothing: neither a fabric (such as leaf-spine-2x2, fat-tree-4) nor a scenario"),
        (("up", "leaf-spine-2x2", "--topo", "fat-tree-4"), "--topo fat-tree-4: leaf-spine-2x2 is a fabric"),
        (("up", "first-light", "--topo", "leaf-spine-2x2"), "events[0].at_step: steps are those of built-in"),
    ],
)
def test_misuse_gets_one_line(fabric, arguments, words):
    done = fabric.net(*arguments)
    assert done.returncode == 2
    assert words in done.stderr + done.stdout
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("csaud: ")


@pytest.mark.parametrize("how", [(), ("--detach",)], ids=["here", "detached"])
def test_a_folder_in_use_is_no_mistake_and_names_who_has_it(fabric, how):
    done = fabric.net("up", "leaf-spine-2x2", *how, "--out", "out")
    assert done.returncode == 1
    assert done.stderr.startswith("csaud: ") and "in use by a run of pid" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("how", [("run",), ("up",), ("up", "--detach")])
@pytest.mark.parametrize("kept", ["logs/train.txt", "report.html", "figures/mine.svg"])
def test_what_no_run_has_made_is_not_replaced(tmp_path, how, kept):
    file = tmp_path / kept
    file.parent.mkdir(exist_ok=True)
    file.write_text("precious")
    done = WaitingFabric(tmp_path).net(*how, "--out", ".")
    assert done.returncode == 2
    assert f"csaud: --out {tmp_path}: has {kept.partition('/')[0]}, which no run has made" in done.stderr
    assert file.read_text() == "precious"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]


def test_elsewhere_there_is_no_fabric(fabric, tmp_path):
    for command in (("job", "--", "true"), ("down",)):
        done = fabric.net(*command, cwd=tmp_path)
        assert done.returncode == 1
        assert done.stderr.startswith(f"csaud: no fabric of {tmp_path} runs; there is ")


@pytest.mark.parametrize(
    "arguments",
    [("up", "leaf-spine-2x2"), ("up", "--detach"), ("job", "--", "true"), ("down",), ("clean",)],
)
def test_without_root_it_is_said_in_one_line(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("csaud: needs root: ") and result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_in_the_foreground_it_says_how_to_go_on_and_ctrl_c_ends_it(tmp_path):
    up = subprocess.Popen(
        [*CSAUD_NET, "up", "leaf-spine-2x2"],
        cwd=tmp_path,
        env=OUTSIDE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said = ""
        while "its end: csaud net down, or Ctrl-C here" not in said:
            line = up.stdout.readline()
            assert line, said
            said += line
        assert "csaud net job -- python train.py" in said
        (run,) = [run for run in all_runs() if run.started_in() == tmp_path]
        os.killpg(up.pid, signal.SIGINT)
        assert "the fabric is taken down" in up.stdout.read()
        assert up.wait(PATIENCE_S) == 0
        assert not run.path.exists()
    finally:
        if up.poll() is None:
            os.killpg(up.pid, signal.SIGKILL)
        up.stdout.close()


SCENARIO = """
name: failing
fabric: leaf-spine-2x2
faults: [{probability: 0.02}]
events:
  - {after: 0s, link: uplink, do: down}
  - {after: 1ms, link: uplink, do: up}
  - {after: 2ms, link: l2-s2, do: down}
background: [{to: h1, sources: 1}]
"""


@pytest.mark.thorough
def test_a_scenarios_faults_events_and_background_come_in_every_job(tmp_path):
    (tmp_path / "failing.yaml").write_text(SCENARIO)
    program = (
        "import csaud, numpy as np\n"
        "with csaud.init() as comm:\n"
        "    for _ in range(10): comm.all_reduce(np.ones(50_000, np.float32))\n"
    )
    with waiting_fabric(tmp_path, "failing.yaml") as fabric:
        for _ in range(2):
            done = fabric.python(program)
            assert done.returncode == 0, done.stdout + done.stderr
            report = fabric.report()
            assert [event.what for event in report.events] == [
                "link l1-s1 down",
                "link l1-s1 up",
                "link l2-s2 down",
            ]
            assert report.in_force.links_down == []
            assert report.switches.injected > 0 and report.books.balanced
            assert [each.to for each in report.background] == ["h1"] and report.background[0].packets_sent > 0
        assert "csaud: after 1ms: link l1-s1 up" in done.stderr


def test_a_fabric_that_ends_ends_the_job_and_both_say_so(tmp_path):
    fabric = WaitingFabric(tmp_path)
    started = fabric.net("up", "leaf-spine-2x2", "--detach", "--out", str(fabric.out))
    assert started.returncode == 0, started.stderr
    (run,) = [run for run in all_runs() if run.started_in() == tmp_path]
    job = fabric.start_job("import time; print('here'); time.sleep(1000)", "--ranks", "1")
    try:
        assert "here" in job.stdout.readline()
        (switches,) = [
            pid for pid, command in processes_of(run.path).items() if "-m csaud_softswitch" in command
        ]
        os.kill(switches, signal.SIGKILL)
        assert "csaud: the fabric has ended while the job ran" in job.stdout.read()
        assert job.wait(PATIENCE_S) == 1
    finally:
        job.kill()
        job.stdout.close()
    wait_for(lambda: not run.path.exists(), "the end of the run")
    assert "softswitch was killed by SIGKILL" in (fabric.out / "fabric.log").read_text()
    assert processes_of(run.path) == {}


@pytest.mark.thorough
def test_a_detached_fabric_that_does_not_come_up_says_why_and_leaves_nothing(tmp_path):
    fabric = WaitingFabric(tmp_path)
    hidden = tmp_path / "bin"
    hidden.mkdir()
    (hidden / "sysctl").write_text("#!/bin/sh\necho not today; exit 1\n")
    for program in hidden.iterdir():
        program.chmod(0o755)
    path = {**OUTSIDE, "PATH": f"{hidden}:{OUTSIDE['PATH']}"}
    done = fabric.net("up", "leaf-spine-2x2", "--detach", "--out", str(fabric.out), env=path)
    assert done.returncode == 1
    assert "h1: cannot disable IPv6: not today" in done.stderr
    assert [run for run in all_runs() if run.started_in() == tmp_path] == []
