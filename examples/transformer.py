"""A small transformer that learns to write English, letter by letter, with DDP or FSDP2.

csaud net job -- python examples/transformer.py --steps 60 --shard

What it reads are the texts of this Python: its licence, words of its manual. A run with losses and failed
links has the same losses of training as one without, to the last bit: --losses FILE keeps them.
"""

import argparse
import json
import pydoc_data.topics
import time
from pathlib import Path

import csaud.torch  # noqa: F401, registers the backend "csaud"
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

LETTERS = 256


class Block(nn.Module):
    """Attention to what came before, then a layer of its own for each letter."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.think = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.attend(self.before(x)).view(batch, length, 3 * self.heads, -1).transpose(1, 2)
        seen = functional.scaled_dot_product_attention(*parts.chunk(3, dim=1), is_causal=True)
        x = x + self.join(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.think(self.between(x))


class Writer(nn.Module):
    """Letters so far -> how likely each letter is next, for all places of all pieces."""

    def __init__(self, width: int, layers: int, context: int) -> None:
        super().__init__()
        self.letters, self.places = nn.Embedding(LETTERS, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads=4) for _ in range(layers))
        self.last = nn.Linear(width, LETTERS)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.letters(x) + self.places.weight[: x.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.last(x.flatten(0, 1))


def text() -> torch.Tensor:
    """465,000 letters of English that every Python has, the same at every rank."""
    words = "".join(pydoc_data.topics.topics[name] for name in sorted(pydoc_data.topics.topics))
    return torch.frombuffer(bytearray(words.encode()), dtype=torch.uint8).long()


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--batch", type=int, default=4, help="pieces of text that each rank reads in a step")
parser.add_argument("--context", type=int, default=64, help="letters of such a piece")
parser.add_argument("--width", type=int, default=64)
parser.add_argument("--layers", type=int, default=2)
parser.add_argument(
    "--backend", choices=("csaud", "gloo"), default="csaud", help="gloo: TCP, to compare with"
)
parser.add_argument("--shard", action="store_true", help="FSDP2: ranks keep parts of the weights; else DDP")
parser.add_argument("--losses", type=Path, help="file for each step's loss, the mean of all ranks, exact")
asked = parser.parse_args()

torch.set_num_threads(1)
dist.init_process_group(asked.backend)
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
model: nn.Module = Writer(asked.width, asked.layers, asked.context)
parameters = sum(p.numel() for p in model.parameters())
if asked.shard:
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
else:
    model = DistributedDataParallel(model, bucket_cap_mb=0.1)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
letters = text()
own = torch.Generator().manual_seed(rank)
losses = []
begun = time.monotonic()
for step in range(asked.steps):
    starts = torch.randint(len(letters) - asked.context - 1, (asked.batch,), generator=own)
    pieces = torch.stack([letters[start : start + asked.context + 1] for start in starts])
    guessed = model(pieces[:, :-1])
    loss = functional.cross_entropy(guessed, pieces[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    mean = loss.detach()
    dist.all_reduce(mean, dist.ReduceOp.AVG)
    losses.append(mean.item())
    if rank == 0 and step % 20 == 0:
        print(f"step {step}: loss {losses[-1]:.3f}", flush=True)
took = (time.monotonic() - begun) / asked.steps
if rank == 0:
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}, {parameters:,} parameters, {took * 1e3:.0f} ms a step")
    if asked.losses:
        asked.losses.write_text(json.dumps([loss.hex() for loss in losses]) + "\n")
dist.destroy_process_group()
