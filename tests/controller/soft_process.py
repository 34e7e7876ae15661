"""python soft_process.py RUN: all switches of RUN/fabric.json on memory links, with edges inside the
process."""

import sys
from pathlib import Path

from csaud_softswitch.fabric_file import read_fabric_file
from csaud_softswitch.hosting import SwitchOptions, host_fabric
from csaud_softswitch.process import run

if __name__ == "__main__":
    run_dir = Path(sys.argv[1])
    run(host_fabric(read_fabric_file(run_dir / "fabric.json"), run_dir, SwitchOptions(), host_ports="memory"))
