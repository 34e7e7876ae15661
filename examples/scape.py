"""Training by PyTorch in which a tenth of the weights is averaged over the ranks in a step.

csaud net job -- python examples/scape.py --sparsity 90

What it reads are words of this Python's manual; it guesses each letter by the 8 before it.
"""

import argparse
import pydoc_data.topics

import csaud
import torch
from csaud.torch import scape
from torch import nn

LETTERS, SEEN = 256, 8

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--sparsity", type=float, default=90, help="%% of the weights not sent in a step")
asked = parser.parse_args()

torch.set_num_threads(1)
words = "".join(pydoc_data.topics.topics[name] for name in sorted(pydoc_data.topics.topics))
text = torch.frombuffer(bytearray(words.encode()), dtype=torch.uint8).long()
torch.manual_seed(1)  # the weights that training begins with, those of rank 0
model = nn.Sequential(
    nn.Embedding(LETTERS, 16), nn.Flatten(), nn.Linear(16 * SEEN, 64), nn.GELU(), nn.Linear(64, LETTERS)
)
count = sum(parameter.numel() for parameter in model.parameters())

with csaud.init() as comm:
    optimizer = scape.Scape(model.parameters(), comm, 3e-3, scape.Sparsity(density=1 - asked.sparsity / 100))
    own = torch.Generator().manual_seed(comm.rank)  # each rank reads what others do not
    losses = []
    for _ in range(asked.steps):
        starts = torch.randint(len(text) - SEEN, (64, 1), generator=own)
        pieces = text[starts + torch.arange(SEEN + 1)]
        loss = nn.functional.cross_entropy(model(pieces[:, :-1]), pieces[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    sent = optimizer.traffic.total / asked.steps
    optimizer.together()  # the same weights at all ranks
    if comm.rank == 0:
        dense = 2 * (comm.size - 1) / comm.size * 4 * count
        print(
            f"loss {losses[0]:.3f} -> {sum(losses[-10:]) / 10:.3f}, {count:,} weights; "
            f"{sent:,.0f} bytes a step, {dense / max(sent, 1):.1f} times fewer than all of them"
        )
