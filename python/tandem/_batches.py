# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A batch as a program gives it to step(), for code that runs it without tandem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_map

from tandem.errors import InvalidArgument
from tandem.marks import Replicated, Rows, Split


def _map(
    batch: Any, tensor: Callable[[torch.Tensor, int], torch.Tensor], whole: Callable[[Any], Any], rows: Callable[[Any], Any]
) -> Any:
    """The batch without marks. tensor() is told the dimension of the rows."""

    def leaf(value: Any) -> Any:
        if isinstance(value, Replicated):
            return tree_map(whole, value.value)
        if isinstance(value, Split):
            return tree_map(lambda x: tensor(x, value.dim) if isinstance(x, torch.Tensor) else x, value.value)
        if isinstance(value, Rows):
            return rows(value.value)
        if isinstance(value, torch.Tensor) and value.dim() > 0:
            return tensor(value, 0)
        return whole(value)

    return tree_map(leaf, batch, is_leaf=lambda value: isinstance(value, (Replicated, Rows, Split)))


def moved(batch: Any, device: torch.device) -> Any:
    """The batch on a device, without marks."""

    def move(value: Any) -> Any:
        return value.to(device) if isinstance(value, torch.Tensor) else value

    return _map(batch, lambda x, _: move(x), move, lambda values: values)


def rows_of(batch: Any) -> int:
    """Rows of a batch; 0 if no tensor has any."""
    found: list[int] = []

    def note(x: torch.Tensor, dim: int) -> torch.Tensor:
        found.append(x.shape[dim])
        return x

    def note_list(values: Any) -> Any:
        found.append(len(values))
        return values

    _map(batch, note, lambda value: value, note_list)
    return found[0] if found else 0


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
