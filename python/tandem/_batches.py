# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A batch as a program gives it to step(), for code that runs it without tandem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_map

from tandem.errors import InvalidArgument
from tandem.marks import Each, Replicated, Rows, Split


def _map(
    batch: Any,
    tensor: Callable[[torch.Tensor, int], torch.Tensor],
    whole: Callable[[Any], Any],
    rows: Callable[[Any], Any],
    dim: int = 0,
) -> Any:
    """The batch without marks. tensor() is told the dimension of the rows."""

    def leaf(value: Any) -> Any:
        if isinstance(value, Replicated):
            return tree_map(whole, value.value)
        if isinstance(value, Split):
            return tree_map(lambda x: tensor(x, value.dim) if isinstance(x, torch.Tensor) else x, value.value)
        if isinstance(value, Rows):
            return rows(value.value)
        if isinstance(value, torch.Tensor) and -value.dim() <= dim < value.dim():
            return tensor(value, dim)
        return whole(value)

    return tree_map(leaf, batch, is_leaf=lambda value: isinstance(value, (Replicated, Rows, Split)))


def moved(batch: Any, device: torch.device) -> Any:
    """The batch on a device, without marks."""

    def move(value: Any) -> Any:
        return value.to(device) if isinstance(value, torch.Tensor) else value

    return _map(batch, lambda x, _: move(x), move, lambda values: tree_map(move, values))


def rows_of(batch: Any, dim: int = 0) -> int:
    """Rows of a batch; 0 if no tensor has any."""
    found: list[int] = []

    def note(x: torch.Tensor, dim: int) -> torch.Tensor:
        found.append(x.shape[dim])
        return x

    def note_list(values: Any) -> Any:
        found.append(len(values))
        return values

    _map(batch, note, lambda value: value, note_list, dim)
    return found[0] if found else 0


def with_own_chunks(
    batch: Any, dim: int, rows: int, plan: Callable[[int], list[int]], places: list[torch.device]
) -> Any:
    """A batch of `rows`, which `plan` divides. A tensor with another number of rows is split by itself.

    Raises InvalidArgument if it has fewer rows than there are replicas with rows.
    """

    def chunks(x: Any) -> Any:
        if not isinstance(x, torch.Tensor) or not -x.dim() <= dim < x.dim() or x.shape[dim] == rows:
            return x
        sizes = plan(rows)
        active = [i for i, n in enumerate(sizes) if n]
        if x.shape[dim] < len(active):
            raise InvalidArgument(
                f"DataParallel: a tensor of the arguments has {x.shape[dim]} rows, and {len(active)} devices have rows of the "
                f"batch's {rows}; give it as many, or wrap it in tandem.replicate(...)"
            )
        values: list[Any] = [None] * len(sizes)
        for i, chunk in zip(active, x.tensor_split(len(active), dim)):
            values[i] = chunk.to(places[i])
        return Each(values)

    return tree_map(chunks, batch, is_leaf=lambda value: isinstance(value, (Replicated, Rows, Split)))


def share_of(batch: Any, part: int, parts: int) -> Any:
    """One of equal shares of the batch's rows, without marks; shares differ by a row at most.

    Raises InvalidArgument if a tensor has another number of rows than the first one.
    """
    rows = rows_of(batch)
    begin, end = rows * part // parts, rows * (part + 1) // parts

    def check(count: int) -> None:
        if count != rows:
            raise InvalidArgument(f"a value of the batch has {count} rows and another one {rows}; give all the same number")

    def narrow(x: torch.Tensor, dim: int) -> torch.Tensor:
        check(x.shape[dim])
        return x.narrow(dim, begin, end - begin)

    def cut(values: Any) -> Any:
        check(len(values))
        return values[begin:end]

    return _map(batch, narrow, lambda value: value, cut)
