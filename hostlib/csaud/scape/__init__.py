"""Training of which a tenth of the weights, or a hundredth, is sent in a step, on vectors of numpy
(docs/training.md); `csaud.torch.scape` has it for PyTorch.

    from csaud import scape

    method = scape.Local(weights, comm.rank, comm.size)
    for step in range(1000):
        scape.over(comm, method.step(gradient(weights, step, comm.rank), lr=2e-3))
    scape.over(comm, method.together())
"""

from csaud.scape.exchange import over
from csaud.scape.local import Local, Sparsity
from csaud.scape.rules import Rates

__all__ = ["Local", "Rates", "Sparsity", "over"]
