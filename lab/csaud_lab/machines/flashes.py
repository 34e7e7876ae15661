"""Brings the firmware of a host's NICs to a version, and prints what it did, as a JSON list. Runs there, as
root, by its own Python (3.8 or newer) with the standard library alone. Flashing is the kernel's (`devlink`),
so the file is what the NIC's vendor hands out for it, below /lib/firmware. It runs after a reboot.

Arguments: the oldest version that will do, and the file's name; the NICs are those of /etc/csaud/host.json.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

SETTINGS = Path("/etc/csaud/host.json")
NET = Path("/sys/class/net")


def told(name: str) -> dict[str, str]:
    output = subprocess.run(["ethtool", "-i", name], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {key: value for key, _, value in (line.partition(": ") for line in output.splitlines())}


def version(text: str) -> list[int]:
    found = re.match(r"[\d.]+", text.strip())
    return [int(part) for part in found[0].split(".") if part] if found else []


def main() -> int:
    oldest, file = sys.argv[1:]
    nics = json.loads(SETTINGS.read_text())["nics"]
    macs = [nic["mac"].lower() for nic in nics]
    done = []
    for name in sorted(each.name for each in NET.iterdir()):
        driver = told(name) if (NET / name / "address").read_text().strip() in macs else {}
        device = f"pci/{driver.get('bus-info', '')}"
        if device == "pci/" or version(driver["firmware-version"]) >= version(oldest):
            continue
        command = ["devlink", "dev", "flash", device, "file", file]
        flashed = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if flashed.returncode != 0:
            sys.stderr.write(f"{name}: {' '.join(command)}: {flashed.stderr.strip()}\n")
            return 1
        done.append(f"{name}: flashed {file}; reboot to run it")
    print(json.dumps(done))
    return 0


if __name__ == "__main__":
    sys.exit(main())
