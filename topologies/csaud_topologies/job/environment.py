"""What a rank finds in its environment, be it of a workload or of a user's own program."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from csaud_controller.inventory import Fabric, interface

from csaud_topologies.scenario.host_settings import host_settings
from csaud_topologies.scenario.model import Scenario

_MASTER_PORT = 29500
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_RANKS_OWN = ("CSAUD_ADDRESS", "CSAUD_CONTROLLER")


def workload_environment() -> dict[str, str]:
    """One BLAS thread everywhere: the reference must do the very same arithmetic as the ranks."""
    return {**os.environ, **_ONE_THREAD}


def job_secret() -> dict[str, str]:
    """Variables with a secret of its own for each job; none where the user's environment has one."""
    given = any(os.environ.get(name) for name in ("CSAUD_SECRET", "CSAUD_SECRET_FILE"))
    return {} if given else {"CSAUD_SECRET": secrets.token_hex(32)}


def rank_variables(
    scenario: Scenario, fabric: Fabric, hosts: list[str], rank: int, control_socket: Path
) -> dict[str, str]:
    """torchrun's variables, and the settings of the host library that follow from the fabric."""
    host = hosts[rank]
    settings: dict[str, Any] = {
        "address": _address(scenario, fabric, host),
        "controller": f"unix:{control_socket}",
        **host_settings(scenario.policy, scenario.host, fabric, host),
    }
    return {
        **{f"CSAUD_{name.upper()}": str(value) for name, value in settings.items()},
        "RANK": str(rank),
        "WORLD_SIZE": str(len(hosts)),
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": _address(scenario, fabric, hosts[0]),
        "MASTER_PORT": str(_MASTER_PORT),
    }


def _address(scenario: Scenario, fabric: Fabric, host: str) -> str:
    spec = fabric.hosts[host]
    return str(spec.ip6 if scenario.ipv6 else spec.ip)


def worker_environment(
    scenario: Scenario, fabric: Fabric, hosts: list[str], rank: int, control_socket: Path
) -> dict[str, str]:
    """That of a workload's rank."""
    return {**workload_environment(), **rank_variables(scenario, fabric, hosts, rank, control_socket)}


def own_environment(
    scenario: Scenario, fabric: Fabric, hosts: list[str], rank: int, control_socket: Path
) -> dict[str, str]:
    """That of a rank of a user's own program: the user's, in which settings that were chosen stay, with what
    a rank must have. As torchrun does, one BLAS thread unless the user wants more.
    """
    variables = rank_variables(scenario, fabric, hosts, rank, control_socket)
    chosen = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("CSAUD_") and name not in _RANKS_OWN
    }
    device = interface(hosts[rank], 0)
    return {
        **_ONE_THREAD,
        "PYTHONUNBUFFERED": "1",  # lines come when they are printed, although no terminal takes them
        "GLOO_SOCKET_IFNAME": device,
        "TP_SOCKET_IFNAME": device,
        "NCCL_SOCKET_IFNAME": device,
        **os.environ,
        **variables,
        "GROUP_RANK": str(rank),
        "GROUP_WORLD_SIZE": str(len(hosts)),
        "ROLE_RANK": str(rank),
        "ROLE_WORLD_SIZE": str(len(hosts)),
        **chosen,
    }
