"""Who am I among how many: ranks and the meeting point from the variables that launchers set.

Sources: torchrun (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT) and Open MPI
(OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, ...).
"""

import dataclasses
import zlib
from collections.abc import Mapping

from csaud.errors import ConfigError

DEFAULT_PORT = 29500  # the port that torch users expect
_LAST_PORT = 65535
MAX_WORLD = 65535  # src_rank has 16 bits on the wire, and so has the number of ranks in the core


@dataclasses.dataclass(frozen=True, slots=True)
class Launch:
    """One process's place in the job.

    Attributes:
        rank, world: 0 <= rank < world.
        local_rank, local_world: the same, counted on this machine only.
        master_addr, master_port: where rank 0 hosts the rendezvous.
        launcher: "torchrun", "openmpi" or "none" (a job of one).
    """

    rank: int
    world: int
    local_rank: int
    local_world: int
    master_addr: str
    master_port: int
    launcher: str


def read(environ: Mapping[str, str]) -> Launch:
    """The launch described by `environ`. With no launcher's variables at all this is a job of one rank.

    Raises:
        ConfigError: a variable is missing, not a number, or out of range.
    """
    if "RANK" in environ or "WORLD_SIZE" in environ:
        return _build(environ, "torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    if "OMPI_COMM_WORLD_RANK" in environ or "OMPI_COMM_WORLD_SIZE" in environ:
        names = (f"OMPI_COMM_WORLD_{what}" for what in ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE"))
        return _build(environ, "openmpi", *names)
    return Launch(0, 1, 0, 1, "127.0.0.1", DEFAULT_PORT, "none")


def _build(
    environ: Mapping[str, str],
    launcher: str,
    rank_name: str,
    world_name: str,
    local_rank_name: str,
    local_world_name: str,
) -> Launch:
    rank = _number(environ, rank_name)
    world = _number(environ, world_name)
    if not 1 <= world <= MAX_WORLD:
        raise ConfigError(f"{world_name}={world}: expected 1 to {MAX_WORLD}")
    if rank >= world:
        raise ConfigError(f"{rank_name}={rank}: expected less than {world_name}={world}")
    local_rank = _number(environ, local_rank_name, 0)
    local_world = _number(environ, local_world_name, 1)
    address = environ.get("MASTER_ADDR", "")
    if not address:
        if world > 1 and local_world != world:
            raise ConfigError("MASTER_ADDR is not set: it names the host of rank 0, where the ranks meet")
        address = "127.0.0.1"
    return Launch(rank, world, local_rank, local_world, address, _port(environ), launcher)


def _port(environ: Mapping[str, str]) -> int:
    if "MASTER_PORT" in environ:
        port = _number(environ, "MASTER_PORT")
        # torchrun's agent keeps a store of its own on MASTER_PORT and says so; the port after it is ours.
        after = int(environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True")
        if port + after > _LAST_PORT:
            raise ConfigError(f"MASTER_PORT={port}: expected 0 to {_LAST_PORT - after}")
        return port + after
    # Open MPI gives no port. Two of its jobs on one machine differ in their name space, so the port does,
    # too.
    job = environ.get("PMIX_NAMESPACE") or environ.get("OMPI_MCA_ess_base_jobid")
    return 20000 + zlib.crc32(job.encode()) % 10000 if job else DEFAULT_PORT


def _number(environ: Mapping[str, str], name: str, default: int | None = None) -> int:
    text = environ.get(name)
    if text is None:
        if default is None:
            raise ConfigError(f"{name} is not set, though other variables of the launcher are")
        return default
    if not text.isascii() or not text.isdigit():
        raise ConfigError(f"{name}={text!r}: expected a whole number")
    return int(text)
