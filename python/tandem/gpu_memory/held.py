# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What the program holds when a recording ends: one look at all objects of the interpreter."""

from __future__ import annotations

import gc

import torch
from torch import nn

from tandem.gpu_memory import causes
from tandem.gpu_memory.notes import Notes


def note_held(notes: Notes, names: dict[int, str]) -> None:
    """Notes the state of optimizers that did not step, the members of modules that were not called, and all other tensors.

    They give a cause to blocks that have none from the step itself. `names` has parameters' names by id.
    """
    for x in gc.get_objects():
        kind = type(x)
        if issubclass(kind, torch.Tensor):
            if x.is_cuda:
                notes.add(x, causes.HELD, f"{str(x.dtype).removeprefix('torch.')}{list(x.shape)}")
                if isinstance(x, nn.Parameter) and (x.is_leaf or x.retains_grad) and x.grad is not None:  # PyTorch warns of others
                    notes.add(x.grad, causes.GRADIENT, names.get(id(x), ""))
        elif issubclass(kind, torch.optim.Optimizer):
            for parameter, state in x.state.items():
                notes.add(state, causes.OPTIMIZER_STATE, names.get(id(parameter), ""))
        elif issubclass(kind, nn.Module) and not getattr(x, "_is_replica", False):
            for name, parameter in x.__dict__.get("_parameters", {}).items():
                notes.add(parameter, causes.PARAMETER, names.get(id(parameter), name))
            for name, buffer in x.__dict__.get("_buffers", {}).items():
                notes.add(buffer, causes.BUFFER, name)
