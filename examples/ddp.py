"""Data-parallel training by PyTorch, over CSA-UD or gloo.

csaud net job -- python examples/ddp.py --backend csaud

With gloo nothing of csaud is in it, so the report has no books; the time that it takes can be compared.
"""

import argparse
import time

import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel

STEPS = 20

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--backend", choices=("csaud", "gloo"), default="csaud")
backend = parser.parse_args().backend
if backend == "csaud":
    import csaud.torch  # noqa: F401, registers it

torch.distributed.init_process_group(backend)  # gloo goes by GLOO_SOCKET_IFNAME over the fabric
rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
torch.manual_seed(1)
model = DistributedDataParallel(
    torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
weights = torch.randn(64, 1)
shard = torch.Generator().manual_seed(rank)
losses = []
begun = time.monotonic()
for _ in range(STEPS):
    inputs = torch.randn(32, 64, generator=shard)
    loss = torch.nn.functional.mse_loss(model(inputs), torch.tanh(inputs @ weights))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
took = (time.monotonic() - begun) / STEPS
print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}, {took * 1e3:.1f} ms a step on {size} ranks")
torch.distributed.destroy_process_group()
