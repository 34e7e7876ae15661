"""The processes of a user's own program, without a fabric: who is ended when one of them fails."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.topologies.runs import PATIENCE_S

# In a process of its own: what a job leaves behind is killed among all descendants.
PROGRAM = """
import contextlib, os, subprocess, sys
from pathlib import Path
from csaud_topologies.job import own_ranks

class Host:
    popen = staticmethod(lambda command, **how: subprocess.Popen(command, start_new_session=True, **how))

own_ranks._WITH_US = ()
own_ranks._TELL_WITHIN_S = 0.0  # the others are asked to end at once, if they are
deaths, folder = int(sys.argv[1]), Path(sys.argv[2])
os.mkfifo(folder / "go")
ranks = own_ranks.OwnRanks(["sh", "-c", f"[ $RANK = 1 ] && kill -9 $$; read word <{folder}/go"], set, deaths)
ticks = 0

def tick():  # rank 0 is let go some time after rank 1 has died
    global ticks
    ticks += ranks.ranks[1].status is not None
    if ticks >= 5:
        with contextlib.suppress(OSError):  # it does not read yet, or any more
            os.write(os.open(folder / "go", os.O_WRONLY | os.O_NONBLOCK), b"go\\n")

environ = lambda rank: {**os.environ, "RANK": str(rank)}
ranks.start({"h1": Host, "h2": Host}, ["h1", "h2"], environ, folder)
ranks.run(tick)
print([rank.ended for rank in ranks.ranks], ranks.verdict())
"""


@pytest.mark.parametrize(
    ("deaths", "ended"),
    [
        (0, "['killed by SIGTERM', 'killed by SIGKILL'] rank 1 (h2) failed first: killed by SIGKILL; then"),
        (1, "['exit status 0', 'killed by SIGKILL'] None"),
    ],
    ids=["none", "one"],
)
def test_the_others_are_ended_unless_a_rank_may_die(tmp_path, deaths, ended):
    command = [sys.executable, "-c", PROGRAM, str(deaths), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(ended), done.stdout
