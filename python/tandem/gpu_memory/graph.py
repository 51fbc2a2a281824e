# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""One walk over the graph when backward begins: each node then says when it runs, and what its gradients are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

BROADCAST = "BroadcastBackward"
_GATHER, _LEAF = "GatherBackward", "AccumulateGrad"
# These allocate nothing, and pass a gradient's storage on, so that the next node tells of it.
_VIEWS = frozenset(
    f"{name}Backward0"
    for name in ("Alias", "Detach", "Expand", "Permute", "ReshapeAlias", "Squeeze", "T", "Transpose", "Unsqueeze", "UnsafeView", "View")
)


class NodePlace(NamedTuple):
    """A node of the graph: its op, its number, and the GPU of the replica of torch.nn.DataParallel that it lies in; None: in none."""

    op: str
    sequence: int
    replica: int | None

    @property
    def is_leaf(self) -> bool:
        return self.op.endswith(_LEAF)

    @property
    def is_broadcast(self) -> bool:
        return self.op.endswith(BROADCAST)

    @property
    def is_gather(self) -> bool:
        return self.op.endswith(_GATHER)


BeforeNode = Callable[[NodePlace, Any], Callable[[Sequence[torch.Tensor]], None]]


def watch(roots: Sequence[torch.Tensor], before: BeforeNode) -> list[torch.Tensor]:
    """Lets `before(place, node)` make a function for each node behind `roots`, which is called with the gradients
    that come to it. Returns the leaves. Nothing of a node is read that would unpack what it has saved: in a checkpoint that
    would compute it."""
    leaves: list[torch.Tensor] = []
    seen: set[Any] = set()
    todo: list[tuple[Any, int | None]] = [(x.grad_fn, None) for x in roots if isinstance(x, torch.Tensor)]
    while todo:
        node, replica = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        place = NodePlace(node.name(), _sequence(node), replica)
        if place.is_leaf:
            leaves.append(node.variable)
        if place.op not in _VIEWS:
            node.register_prehook(before(place, node))
        for following, _ in node.next_functions:
            if place.is_gather and following is not None:
                todo.append((following, _device(following)))
            else:
                todo.append((following, None if place.is_broadcast else replica))
    return leaves


def _sequence(node: Any) -> int:
    number = node._sequence_nr()
    return number if number < 2**62 else -1  # a leaf's is the largest there is


def _device(node: Any) -> int:
    """The index of a node's GPU; -1: it has none."""
    try:
        metadata = node._input_metadata
    except RuntimeError:
        return -1
    return next((m.device.index for m in metadata if m.device.type == "cuda"), -1)
