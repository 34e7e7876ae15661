"""A script of p4runtime-shell's users: so many routes, one by one, into one switch.

    python controller_shell.py ADDRESS P4INFO PROGRAM ENTRIES

Prints the seconds that the entries took, and those that this process computed; without the connection.
"""

import sys
import time

import p4runtime_sh.shell as sh  # type: ignore[import-not-found]  # of an environment of its own


def main(address: str, p4info: str, program: str, entries: int) -> None:
    sh.setup(
        device_id=1,
        grpc_addr=address,
        election_id=(0, 1),
        config=sh.FwdPipeConfig(p4info, program),
        verbose=False,
    )
    try:
        began, computed = time.perf_counter(), time.process_time()
        for number in range(entries):
            entry = sh.TableEntry("CsaudIngress.route.ipv4_lpm")(action="CsaudIngress.route.set_group")
            entry.match["dst"] = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}/32"
            entry.action["group"] = str(number % 32 + 1)
            entry.insert()
        print(time.perf_counter() - began, time.process_time() - computed)
    finally:
        sh.teardown()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
