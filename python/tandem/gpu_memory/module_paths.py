# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The paths of modules, as the program's own model names them: those of wrappers and of copies are the same."""

from __future__ import annotations

import warnings
import weakref
from typing import Any

from torch import nn

# PyTorch's own, also where tandem.replace_data_parallel has its name.
_COMPILED = "_orig_mod"  # the module in one of torch.compile
DATA_PARALLEL = next(kind for kind in nn.DataParallel.__mro__ if kind.__module__ == "torch.nn.parallel.data_parallel")


def is_replica(module: nn.Module) -> bool:
    """Whether `module` is a copy that torch.nn.DataParallel made for a call."""
    own = module.__dict__  # where a module has no attribute of a name, PyTorch searches for long
    return bool(own.get("_is_replica") or (_COMPILED in own.get("_modules", ()) and getattr(module, "_is_replica", False)))


def is_data_parallel(module: nn.Module) -> bool:
    return isinstance(module, DATA_PARALLEL)


def is_wrapper(module: nn.Module) -> bool:
    kinds = type(module).__mro__  # to ask isinstance() of an abstract class takes longer
    return DATA_PARALLEL in kinds or nn.parallel.DistributedDataParallel in kinds


def inner_of(module: nn.Module) -> nn.Module:
    """The module that a wrapper, or torch.compile, was given; else the module itself."""
    if is_replica(module):
        return module  # one of torch.compile may have itself inside
    inner = module.module if is_wrapper(module) else module.__dict__.get("_modules", {}).get(_COMPILED)
    return inner_of(inner) if isinstance(inner, nn.Module) else module


class CompiledModules:
    """PyTorch warns that modules of torch.compile call global hooks, too; between begin() and end() they are to do so.

    What the program does to its own filters meanwhile stays.
    """

    def __init__(self) -> None:
        self._filters: list[Any] = []

    def begin(self) -> None:
        before = list(warnings.filters)
        warnings.filterwarnings("ignore", message=r"Using `torch\.compile\(module\)` when there are global hooks")
        self._filters = [own for own in warnings.filters if own not in before]

    def end(self) -> None:
        warnings.filters[:] = [other for other in warnings.filters if other not in self._filters]  # type: ignore[index]
        self._filters = []


class ModulePaths:
    """Finds paths from the outermost module that was called. Holds no module: a copy would keep its parameters."""

    def __init__(self) -> None:
        self._paths: weakref.WeakKeyDictionary[nn.Module, str] = weakref.WeakKeyDictionary()

    def of(self, module: nn.Module) -> str:
        path = self._paths.get(module)
        if path is None:
            path = self._paths[module] = ""
            for name, child in inner_of(module).named_modules():
                self._paths.setdefault(child, name)
        return path


def owned(path: str, name: str) -> str:
    """The path of a module's member."""
    return f"{path}.{name}" if path else name


def block_of(path: str) -> str:
    """The repeated block that a module lies in, as 'encoder.layer.3': the path up to its first number; empty: it lies in none."""
    parts = path.split(".")
    number = next((i for i, part in enumerate(parts) if part.isdigit()), None)
    return "" if number is None else ".".join(parts[: number + 1])
