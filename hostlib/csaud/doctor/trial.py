"""A job of two ranks in this process: the only proof that a device works."""

import socket
import threading
from typing import Any

import numpy as np

from csaud.errors import CsaudError
from csaud.network.addresses import family_of, is_ipv6
from csaud.start.init import init

_LENGTH = 20_000  # floats, several packets each way
_PATIENCE = {"store_timeout": 5.0, "timeout": 20.0, "dead_after": 10.0, "close_timeout": 2.0}


def try_device(address: str, **settings: Any) -> str:
    """Sum two arrays between two ranks at `address`.

    Returns:
        "" where the sum is right, or what went wrong.
    """
    loopback = "::1" if is_ipv6(address) else "127.0.0.1"
    with socket.socket(family_of(address)) as finder:
        finder.bind((loopback, 0))
        port = str(finder.getsockname()[1])
    errors: dict[int, str] = {}

    def run(rank: int) -> None:
        environ = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": loopback, "MASTER_PORT": port}
        array = np.full(_LENGTH, rank + 1, dtype=np.float32)
        try:
            with init(environ=environ, address=address, **_PATIENCE, **settings) as comm:
                comm.all_reduce(array)
        except CsaudError as error:
            errors[rank] = str(error)
            return
        if not (array == 3).all():
            errors[rank] = "the sum is wrong"

    ranks = [threading.Thread(target=run, args=(rank,)) for rank in range(2)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    return errors[min(errors)] if errors else ""
