# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""One walk over the graph when backward begins: each node then says when it runs, and what its gradients are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

BROADCAST = "BroadcastBackward"
_GATHER, _LEAF = "GatherBackward", "AccumulateGrad"


@dataclass(frozen=True)
class NodePlace:
    """A node of the graph: its op, its number, its GPU, and whether it lies in a replica of torch.nn.DataParallel."""

    op: str
    sequence: int
    device: int
    in_replica: bool

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
    todo: list[tuple[Any, bool]] = [(x.grad_fn, False) for x in roots if isinstance(x, torch.Tensor)]
    while todo:
        node, in_replica = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        place = NodePlace(node.name(), _sequence(node), _device(node), in_replica)
        if place.is_leaf:
            leaves.append(node.variable)
        node.register_prehook(before(place, node))
        inside = (in_replica or place.is_gather) and not place.is_broadcast
        todo += [(following, inside) for following, _ in node.next_functions]
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
