"""The order of summation: a binary tree over the numbers of microbatches, which no worker is part of.

The microbatches [start, stop) of a node are those of its left half and then those of its right half. The sum
of a node is that of its left child plus that of its right one, so it has the same bits whoever computed its
parts.
"""

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

Node = tuple[int, int]
"""Microbatches start to stop - 1."""

Value = TypeVar("Value")


def children(node: Node) -> tuple[Node, Node]:
    """The halves of a node of more than one microbatch; the left one is the smaller where they differ."""
    start, stop = node
    middle = (start + stop) // 2
    return (start, middle), (middle, stop)


def cover(numbers: Collection[int], count: int) -> list[Node]:
    """The largest nodes of the tree of `count` microbatches that together are exactly `numbers`, in order."""
    found: list[Node] = []
    held = set(numbers)

    def look(node: Node) -> None:
        inside = sum(1 for number in range(*node) if number in held)
        if inside == node[1] - node[0]:
            found.append(node)
        elif inside:
            for child in children(node):
                look(child)

    if count:
        look((0, count))
    return found


def merged(sums: dict[Node, Value], count: int, add: Callable[[Value, Value], Value]) -> dict[Node, Value]:
    """`sums` with the children of each node put together where both are there, up to the root."""
    nodes = cover([number for node in sums for number in range(*node)], count)
    return {node: total(sums, node, add) for node in nodes}


def total(sums: Mapping[Node, Value], node: Node, add: Callable[[Value, Value], Value]) -> Value:
    """The sum of a node, of those of nodes below it that cover it.

    Args:
        add: may put the sum into its first argument and return that.
    """
    if node in sums:
        return sums[node]
    left, right = children(node)
    return add(total(sums, left, add), total(sums, right, add))
