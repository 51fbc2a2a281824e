# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Objects whose parts are split and joined, beside tuples, lists, dicts and dataclasses."""

from __future__ import annotations

import collections
import copy
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree

from tandem.errors import InvalidArgument


@dataclass(frozen=True)
class Node:
    """An object as its parts, and how one of its kind is made of other parts. Read by the extension module."""

    type: type
    keys: tuple[Any, ...]
    parts: list[Any]
    context: Any
    """What objects that are joined must agree on."""
    make: Callable[[list[Any]], Any]


class Scalar:
    """A tensor without dimensions in an object, on which the replicas must agree."""

    def __init__(self, value: torch.Tensor):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scalar) and bool(self.value.item() == other.value.item())


def node_of_argument(value: Any) -> Node | None:
    """An object of a class that is registered with PyTorch's pytree, or a UserDict; None for others."""
    kind = type(value)
    known = _pytree.SUPPORTED_NODES.get(kind)
    if known is not None:
        parts, context = known.flatten_fn(value)
        parts = list(parts)
        return Node(kind, tuple(range(len(parts))), parts, context, lambda parts: known.unflatten_fn(parts, context))
    if isinstance(value, collections.UserDict):
        keys = tuple(value)
        return Node(kind, keys, [value[key] for key in keys], None, lambda parts: _filled(value, keys, parts))
    return None


def node_of_output(value: Any) -> Node | None:
    """The same, or an object that can be made of what it iterates over, as torch.nn.DataParallel makes outputs."""
    node = node_of_argument(value)
    if node is not None or not _may_iterate(value):
        return node
    try:
        parts = list(value)
    except Exception:
        return None
    if not any(isinstance(leaf, torch.Tensor) for leaf in _pytree.tree_leaves(parts)):
        return None
    parts = _pytree.tree_map(lambda x: Scalar(x) if isinstance(x, torch.Tensor) and x.dim() == 0 else x, parts)
    return Node(type(value), tuple(range(len(parts))), parts, None, lambda parts: _made_of(type(value), parts))


def equal(a: Any, b: Any) -> bool:
    """Whether two replicas' objects are equal. What cannot be compared is not."""
    try:
        if getattr(a, "shape", None) != getattr(b, "shape", None):
            return False
        same = a == b
        return bool(same.all() if hasattr(same, "all") else same)
    except Exception:
        return False


def _filled(value: Any, keys: tuple[Any, ...], parts: list[Any]) -> Any:
    made = copy.copy(value)
    for key, part in zip(keys, parts):
        made[key] = part
    return made


def _may_iterate(value: Any) -> bool:
    return hasattr(type(value), "__iter__") and not isinstance(
        value, (str, bytes, Iterator, Mapping, Set, torch.nn.Module, torch.distributions.Distribution)
    )


def _made_of(kind: type, parts: list[Any]) -> Any:
    try:
        return kind(_pytree.tree_map(lambda x: x.value if isinstance(x, Scalar) else x, parts))
    except Exception as error:
        raise InvalidArgument(
            f"gather: an output is a {kind.__name__}, which cannot be made of the replicas' parts ({error}); return its tensors"
        ) from error
