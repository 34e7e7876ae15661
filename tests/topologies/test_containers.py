"""A fabric in a chroot and in a privileged container; in others one sentence says what is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.topologies.runs import small_scenario

pytestmark = pytest.mark.root

ROOT = Path(__file__).parents[2]
CSAUD = str(Path(sys.executable).with_name("csaud"))
# A root file system made of this machine's folders, with /proc and /dev as containers have them.
ENTER = """
folder=$1 how=$2 repository=$3 root=$1/root/files; shift 3
mkdir "$folder/root"; mount -t tmpfs tmpfs "$folder/root"; mkdir "$root"
for each in /*; do
  if [ -L "$each" ]; then cp -a "$each" "$root"; continue; fi
  [ -d "$each" ] || continue
  mkdir "$root$each"
  case $each in /proc | /run | /tmp) continue ;; esac
  mount --rbind "$each" "$root$each"
done
if [ ! -e "$root$repository" ]; then
  mkdir -p "$root$repository"; mount --rbind "$repository" "$root$repository"
fi
mount -t proc proc "$root/proc"; cp "$folder/small.yaml" "$root/run"
if [ "$how" = chroot ]; then exec chroot "$root" "$@"; fi
mount --rbind "$root" "$root"; cd "$root"; mkdir before; pivot_root . before; umount -l before; exec "$@"
"""
RUN = (CSAUD, "net", "run", "--out", "/tmp/out")


def refused(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["chroot", "pivot_root"])
def test_a_run_in_a_root_file_system_of_its_own(how: str, tmp_path: Path) -> None:
    alone = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-euc", ENTER, "bash")
    small_scenario(tmp_path, sizes=(1021,), repeats=1)
    done = subprocess.run(
        [*alone, str(tmp_path), how, str(ROOT), *RUN, "--scenario", "/run/small.yaml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed: all" in done.stdout


@pytest.mark.parametrize("capability", ["sys_admin", "net_admin", "net_raw", "sys_chroot"])
def test_a_container_without_a_capability(capability: str) -> None:
    line = refused("setpriv", f"--bounding-set=-{capability}", f"--inh-caps=-{capability}", *RUN)
    lacks = f"csaud: root lacks CAP_{capability.upper()} here, as in an unprivileged container"
    assert line == f"{lacks}: start it with --privileged"


def test_a_container_that_may_not_make_namespaces_for_another_reason() -> None:
    limit = 'echo 0 >/proc/sys/user/max_net_namespaces; exec "$@"'
    line = refused("unshare", "--user", "--map-root-user", "bash", "-euc", limit, "bash", *RUN)
    assert line.startswith("csaud: no namespaces can be made here (unshare failed: ")
    assert line.endswith("; a container must be --privileged")


@pytest.mark.parametrize(
    ("hidden", "said"),
    [
        ("/dev/pts", "csaud: no terminals can be made here: mount -t devpts devpts /dev/pts"),
        ("/proc", "csaud: /proc is not mounted here (mount -t proc proc /proc)"),
    ],
)
def test_a_chroot_that_lacks_a_mount(hidden: str, said: str) -> None:
    hide = f'mount -t tmpfs tmpfs {hidden}; exec "$@"'
    assert refused("unshare", "--mount", "bash", "-euc", hide, "bash", *RUN) == said
