"""Training by PyTorch that goes on when workers die; the optimizer's states are split over the workers.

csaud recover --workers 4 --returns 1 -- python examples/recover_torch.py --deaths 2
"""

import argparse
import hashlib
import os
import signal

import torch
from csaud.torch import recover

MICROBATCHES, STEPS = 8, 30

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--deaths", type=int, default=0, help="workers that kill themselves on the way")
deaths = parser.parse_args().deaths

torch.set_num_threads(1)
torch.manual_seed(1)  # the weights that training begins with: torch's own seed is another one in each process
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.Dropout(0.1), torch.nn.Linear(128, 4))
optimizer = recover.ShardedOptimizer(model.parameters(), torch.optim.AdamW, lr=0.003)

with recover.start(MICROBATCHES, model, optimizer, dead_after=1.0) as job:
    rank = int(os.environ.get("RANK", -1))  # at the start; one that returns has none
    for step in job.steps(STEPS):
        losses = []
        for _ in step:  # microbatches of this worker; more of them when another one dies
            if 0 < rank <= deaths and step.index == 10 * rank:
                os.kill(os.getpid(), signal.SIGKILL)
            inputs = torch.randn(128, 64)  # the same whoever computes this microbatch: see `seed`
            loss = torch.nn.functional.cross_entropy(model(inputs), inputs[:, :4].argmax(dim=1))
            loss.backward()
            losses.append(loss.item())
        optimizer.step()
        if job.rank == 0 and step.index % 5 == 4:
            print(f"step {step.index}: {job.size} workers, loss {sum(losses) / len(losses):.3f}", flush=True)
    if job.rank == 0:
        weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
        print(f"weights {hashlib.sha256(weights).hexdigest()[:16]}")
