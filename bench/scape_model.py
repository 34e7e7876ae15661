"""A small transformer that learns English letter by letter, with weights of their own for each rank, all
computed together."""

from __future__ import annotations

import pydoc_data.topics

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

Vector = npt.NDArray[np.float32]

WIDTH, LAYERS, HEADS, CONTEXT = 32, 1, 4, 32


class Text:
    """The manual that comes with Python, 466,000 letters of English; the last tenth is kept for validation.

    Attributes:
        letters: how many different ones.
    """

    def __init__(self) -> None:
        topics = pydoc_data.topics.topics
        words = np.frombuffer("".join(topics[name] for name in sorted(topics)).encode(), np.uint8)
        known, numbers = np.unique(words, return_inverse=True)
        self.letters = len(known)
        cut = len(numbers) * 9 // 10
        self._training, self._validation = numbers[:cut], numbers[cut:]

    def pieces(self, count: int, seed: int, step: int, rank: int) -> npt.NDArray[np.int64]:
        """What a rank reads in a step, shape (count, CONTEXT + 1)."""
        return _pieces(self._training, np.random.default_rng([seed, step, rank]), count)

    def validation(self, count: int) -> npt.NDArray[np.int64]:
        """The same each time."""
        return _pieces(self._validation, np.random.default_rng(5), count)


def _pieces(text: npt.NDArray[np.int64], random: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
    starts = random.integers(len(text) - CONTEXT - 1, size=count)
    return np.take(text, starts[:, None] + np.arange(CONTEXT + 1))


class Model:
    """Attention and a layer between, as often as LAYERS, with norms that have no weights.

    Attributes:
        count: weights.
    """

    def __init__(self, letters: int) -> None:
        width = WIDTH
        self._shapes = {"letters": (letters, width), "places": (CONTEXT, width), "last": (width, letters)}
        for layer in range(LAYERS):
            self._shapes |= {
                f"attend {layer}": (width, 3 * width),
                f"join {layer}": (width, width),
                f"up {layer}": (width, 4 * width),
                f"down {layer}": (4 * width, width),
            }
        self.count = sum(rows * columns for rows, columns in self._shapes.values())

    def weights(self, seed: int) -> Vector:
        """Where training begins."""
        random = np.random.default_rng(seed)
        parts = []
        for name, (rows, columns) in self._shapes.items():
            scale = 0.02 if name in ("letters", "places") else rows**-0.5
            if name == "last" or name.startswith(("join", "down")):
                scale /= 2
            parts.append(random.normal(0, scale, rows * columns))
        return np.concatenate(parts).astype(np.float32)

    def gradients(
        self, weights: npt.NDArray[np.float32], pieces: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float32]:
        """Each rank's at its own weights, of its own pieces.

        Args:
            weights: of shape (ranks, count).
            pieces: of shape (ranks, pieces, CONTEXT + 1).
        """
        leaf = torch.from_numpy(weights).requires_grad_()
        self._losses(leaf, torch.from_numpy(pieces)).sum().backward()
        assert leaf.grad is not None
        found: npt.NDArray[np.float32] = leaf.grad.numpy()
        return found

    def loss(self, weights: Vector, pieces: npt.NDArray[np.int64]) -> float:
        """In nats a letter."""
        with torch.no_grad():
            return float(self._losses(torch.from_numpy(weights[None]), torch.from_numpy(pieces[None])))

    def _losses(self, weights: torch.Tensor, pieces: torch.Tensor) -> torch.Tensor:
        ranks, count, width = weights.shape[0], pieces.shape[1], WIDTH
        parts, at = {}, 0
        for name, (rows, columns) in self._shapes.items():
            parts[name] = weights[:, at : at + rows * columns].view(ranks, rows, columns)
            at += rows * columns
        read = pieces[:, :, :-1].reshape(ranks, -1, 1).expand(-1, -1, width)
        x = torch.gather(parts["letters"], 1, read).view(ranks, count, CONTEXT, width)
        x = (x + parts["places"][:, None]).view(ranks, -1, width)
        for layer in range(LAYERS):
            three = torch.bmm(_normed(x), parts[f"attend {layer}"])
            three = three.view(ranks * count, CONTEXT, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
            seen = functional.scaled_dot_product_attention(three[0], three[1], three[2], is_causal=True)
            seen = seen.transpose(1, 2).reshape(ranks, -1, width)
            x = x + torch.bmm(seen, parts[f"join {layer}"])
            between = functional.gelu(torch.bmm(_normed(x), parts[f"up {layer}"]))
            x = x + torch.bmm(between, parts[f"down {layer}"])
        guessed = torch.bmm(_normed(x), parts["last"])
        each = functional.cross_entropy(guessed.flatten(0, 1), pieces[:, :, 1:].reshape(-1), reduction="none")
        return each.view(ranks, -1).mean(1)


def _normed(x: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
