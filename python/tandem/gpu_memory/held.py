# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What the program holds when a recording begins, and when it ends: one look at all objects of the interpreter."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from tandem.gpu_memory import causes
from tandem.gpu_memory.notes import Notes


def note_older(notes: Notes, names: dict[int, str]) -> None:
    """Notes all tensors that Python leads to, for blocks that have no cause from the step itself, and the state of optimizers, which an
    update may replace. `names` has parameters' names by id."""
    for x in _objects(torch.Tensor, torch.optim.Optimizer):
        if issubclass(type(x), torch.Tensor):
            _note_tensor(notes, x)
        else:
            _note_state(notes, x, names)


def note_held(notes: Notes, names: dict[int, str]) -> None:
    """Notes these, and what optimizers have, which so takes no time of the step, and the members of modules that were not called.

    `names` has parameters' names by id.
    """
    for x in _objects(torch.Tensor, torch.optim.Optimizer, nn.Module):
        kind = type(x)
        if issubclass(kind, torch.Tensor):
            _note_tensor(notes, x)
            if issubclass(kind, nn.Parameter) and x.is_cuda and (x.is_leaf or x.retains_grad) and x.grad is not None:  # PyTorch warns of others
                notes.add(x.grad, causes.GRADIENT, names.get(id(x), ""))
        elif issubclass(kind, torch.optim.Optimizer):
            for group in x.param_groups:
                for parameter in group["params"]:
                    notes.add(parameter, causes.PARAMETER, names.get(id(parameter), ""))
            _note_state(notes, x, names)
        elif not getattr(x, "_is_replica", False):
            for name, parameter in x.__dict__.get("_parameters", {}).items():
                notes.add(parameter, causes.PARAMETER, names.get(id(parameter), name))
            for name, buffer in x.__dict__.get("_buffers", {}).items():
                notes.add(buffer, causes.BUFFER, name)


def _note_state(notes: Notes, optimizer: torch.optim.Optimizer, names: dict[int, str]) -> None:
    for parameter, state in optimizer.state.items():
        notes.add(state, causes.OPTIMIZER_STATE, names.get(id(parameter), ""))


def _note_tensor(notes: Notes, x: torch.Tensor) -> None:
    if x.is_cuda:
        notes.add(x, causes.HELD, f"{str(x.dtype).removeprefix('torch.')}{list(x.shape)}")


def _objects(*classes: type) -> Iterator[Any]:
    """Those of the interpreter. There may be a million, of a few thousand types, which are asked once."""
    wanted: dict[type, bool] = {}
    for x in gc.get_objects():
        kind = type(x)
        found = wanted.get(kind)
        if found is None:
            found = wanted[kind] = issubclass(kind, classes)
        if found:
            yield x
