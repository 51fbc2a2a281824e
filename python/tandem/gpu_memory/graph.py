# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""One walk over the graph when backward begins: which nodes it has, and where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

BROADCAST = ("BroadcastBackward", "BroadcastBucket")  # PyTorch's and tandem's
SEVERAL = "several"  # the op of marks of more than one node
_GATHER, _LEAF = "GatherBackward", "AccumulateGrad"
_GATE = "GradientGate"  # one or two lie where a replica of tandem's begins and ends
# These allocate nothing, and pass a gradient's storage on, so that the next node tells of it.
_VIEWS = frozenset(
    f"{name}Backward0"
    for name in ("Alias", "Detach", "Expand", "Permute", "ReshapeAlias", "Squeeze", "T", "Transpose", "Unsqueeze", "UnsafeView", "View")
)


class NodePlace(NamedTuple):
    """A node of the graph: its op, its number, and the GPU of the replica of torch.nn.DataParallel that it lies in; None: in none."""

    node: Any
    op: str
    sequence: int
    replica: int | None

    @property
    def is_broadcast(self) -> bool:
        return self.op.endswith(BROADCAST)

    @property
    def is_gather(self) -> bool:
        return self.op.endswith(_GATHER)

    @property
    def thread(self) -> int:
        """The GPU whose thread of backward runs the node."""
        return _device(self.node) if self.replica is None else self.replica


def nodes_behind(roots: Sequence[torch.Tensor]) -> tuple[list[NodePlace], list[Any]]:
    """The nodes of a graph that may allocate memory, and those of its leaves. Nothing of a node is read that would unpack what it has saved: in
    a checkpoint that would compute it."""
    nodes: list[NodePlace] = []
    leaves: list[Any] = []
    seen: set[Any] = set()
    todo: list[tuple[Any, int | None]] = [(x.grad_fn, None) for x in roots if isinstance(x, torch.Tensor)]
    while todo:
        node, replica = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        op = node.name()
        if op.endswith(_LEAF):
            leaves.append(node)
            continue
        place = NodePlace(node, op, node._sequence_nr(), replica)
        if op not in _VIEWS:
            nodes.append(place)
        bounds = op == _GATE or place.is_gather or place.is_broadcast
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                todo.append((following, _replica_behind(place, following) if bounds else replica))
    return nodes, leaves


def _replica_behind(place: NodePlace, following: Any) -> int | None:
    """The replica that a node lies in which follows one of this place, where replicas begin or end."""
    if place.is_gather:
        return _device(following)
    if place.is_broadcast:
        return None
    enters = place.replica is None and following.name() not in (_GATE, _LEAF)
    return _device(following) if enters else None


def _device(node: Any) -> int:
    """The index of a node's GPU; -1: it has none."""
    try:
        metadata = node._input_metadata
    except RuntimeError:
        return -1
    return next((m.device.index for m in metadata if m.device.type == "cuda"), -1)
