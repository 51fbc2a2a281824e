# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The paths of modules, as the program's own model names them: those of wrappers and of copies are the same."""

from __future__ import annotations

import weakref

from torch import nn

_WRAPPERS = (nn.DataParallel, nn.parallel.DistributedDataParallel)


def is_replica(module: nn.Module) -> bool:
    """Whether `module` is a copy that torch.nn.DataParallel made for a call."""
    return bool(getattr(module, "_is_replica", False))


def is_wrapper(module: nn.Module) -> bool:
    return isinstance(module, _WRAPPERS)


class ModulePaths:
    """Finds paths from the outermost module that was called. Holds no module: a copy would keep its parameters."""

    def __init__(self) -> None:
        self._paths: weakref.WeakKeyDictionary[nn.Module, str] = weakref.WeakKeyDictionary()

    def of(self, module: nn.Module) -> str:
        path = self._paths.get(module)
        if path is None:
            inner = module.module if is_wrapper(module) else module
            assert isinstance(inner, nn.Module)
            path = self._paths[module] = ""
            for name, child in inner.named_modules():
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
