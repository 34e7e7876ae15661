"""One rank: reads cases from stdin, a JSON object a line, and prints what became of them.

python -m tests.torch_backend.worker BACKEND

Tensors are made on the device that DEVICE names; without it, the CPU.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from datetime import timedelta

import csaud.torch  # noqa: F401, registers the backend
import torch
import torch.distributed as dist

from tests.torch_backend import cases, ending_cases, gpu_cases, training_cases, waiting_cases

ROOMS = (cases, ending_cases, gpu_cases, training_cases, waiting_cases)


def main() -> None:
    torch.set_num_threads(1)
    torch.set_default_device(os.environ.get("DEVICE", "cpu"))
    dist.init_process_group(sys.argv[1], timeout=timedelta(seconds=60))
    for line in sys.stdin:
        request = json.loads(line)
        told = {"event": request["event"], "result": None, "error": None}
        try:
            room = next(room for room in ROOMS if hasattr(room, request["case"]))
            told["result"] = getattr(room, request["case"])(**request["arguments"])
        except Exception as error:
            told["error"] = traceback.format_exc()
            told["kind"], told["message"] = type(error).__name__, str(error)
        print(json.dumps(told), flush=True)


main()
