"""One rank of an all-reduce with PyTorch's gloo: `gloo_worker.py BYTES ITERATIONS`, by torchrun's variables.

Runs in an environment that has PyTorch and nothing of this project. Rank 0 prints one line of JSON.
"""

import json
import sys
import time

import torch
import torch.distributed as dist


def main() -> None:
    size, iterations = int(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    array = torch.zeros(size // 4)
    dist.all_reduce(array)
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(iterations):
        dist.all_reduce(array)
    took = torch.tensor([time.perf_counter() - begin])
    dist.all_reduce(took, dist.ReduceOp.MAX)
    if dist.get_rank() == 0:
        print(json.dumps({"seconds": float(took[0]) / iterations}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
