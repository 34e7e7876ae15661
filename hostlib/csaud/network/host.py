"""Which host this process is on, where a host is a network namespace: those of an emulated fabric differ."""

from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/net")


def this_host() -> str:
    """A name for it among the network namespaces of all machines.

    Raises:
        OSError: the kernel does not tell.
    """
    return f"{_BOOT_ID.read_text().strip()} {_NAMESPACE.readlink()}"
