# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Marks for arguments that are not to be split along the wrapper's own dimension."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Replicated:
    """A value that every replica gets whole."""

    value: Any


@dataclass(frozen=True)
class Split:
    """A value whose tensors are split along their own dimension."""

    value: Any
    dim: int


@dataclass(frozen=True)
class Rows:
    """A list that has one element for each row of the batch."""

    value: list[Any]


@dataclass(frozen=True)
class Each:
    """A value for each replica, by its index."""

    values: list[Any]


def replicate(value: Any) -> Replicated:
    """Every replica gets `value` whole: `model(x, replicate(table))`.

    Its tensors are copied to the replica's device.
    """
    return Replicated(value)


def split(value: Any, dim: int) -> Split:
    """The tensors in `value` have the batch's rows in dimension `dim`: `model(x, split(mask, 1))`."""
    return Split(value, dim)


def rows(values: list[Any]) -> Rows:
    """One element for each row of the batch: `model(x, rows(texts))`. A replica gets those of its rows."""
    return Rows(values)
