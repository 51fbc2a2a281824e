# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The paths of modules, as the program's own model names them: those of wrappers and of copies are the same."""

from __future__ import annotations

from torch import nn

_WRAPPERS = (nn.DataParallel, nn.parallel.DistributedDataParallel)


def is_replica(module: nn.Module) -> bool:
    """Whether `module` is a copy that torch.nn.DataParallel made for a call."""
    return bool(getattr(module, "_is_replica", False))


def is_wrapper(module: nn.Module) -> bool:
    return isinstance(module, _WRAPPERS)


class ModulePaths:
    """Finds paths from the outermost module that was called."""

    def __init__(self) -> None:
        self._paths: dict[int, str] = {}
        self._roots: dict[int, nn.Module] = {}  # keeps the modules, so that an id stays theirs

    def of(self, module: nn.Module, is_root: bool) -> str:
        if is_root and id(module) not in self._roots:
            self._roots[id(module)] = module
            inner = module.module if is_wrapper(module) else module
            self._paths[id(module)] = ""
            for name, child in inner.named_modules():
                self._paths.setdefault(id(child), name)
        return self._paths.get(id(module), "")

    def owned(self, module: nn.Module, path: str, name: str) -> str:
        return f"{path}.{name}" if path else name

    def forget_replicas(self) -> None:
        """Ends the hold of the copies of a call."""
        for key in [key for key, module in self._roots.items() if is_replica(module)]:
            for child in self._roots.pop(key).modules():
                self._paths.pop(id(child), None)
