# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Optimizers of PyTorch whose update all devices share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from tandem._with_torch import _torch


_classes: dict[type[torch.optim.Optimizer], type[Optimizer]] = {}


def _shared(kind: type[torch.optim.Optimizer]) -> type[Optimizer]:
    """The class of optimizers that are a `kind` as well."""
    if kind not in _classes:
        _classes[kind] = type(kind.__name__, (Optimizer, kind), {"__module__": "tandem", "_kind": kind})
    return _classes[kind]


def _empty(kind: type[torch.optim.Optimizer]) -> Optimizer:
    """For copies and files, which give it its state."""
    return object.__new__(_shared(kind))


class Optimizer(torch.optim.Optimizer):
    """A class of torch.optim whose update the devices of a DataParallel share, in modes sharded and ddp:

        optimizer = tandem.Optimizer(model.parameters(), torch.optim.AdamW, lr=1e-3)
        model.step(batch, loss, optimizer)

    It is an instance of that class, with its options, groups and state dict: either loads what the other has saved. Options
    are read at each step, so schedulers and edits of param_groups count. Before its first step with a wrapper it is a plain
    optimizer of that class. Of the state, read what state_dict() returns; the devices have it in between.

    Classes that treat each element alike: SGD, Adam, AdamW, NAdam, RAdam, RMSprop, Adagrad, Adadelta.
    """

    _kind: type[torch.optim.Optimizer]

    def __new__(cls, params: Any, kind: type[torch.optim.Optimizer] | None = None, **options: Any) -> Optimizer:
        return super().__new__(cls if kind is None else _shared(kind))

    def __init__(
        self,
        params: torch.nn.Module | Iterable[Any],
        kind: type[torch.optim.Optimizer] = torch.optim.SGD,
        **options: Any,
    ) -> None:
        self._update = _torch.SharedUpdate(kind.__name__)
        self._kind.__init__(self, params.parameters() if isinstance(params, torch.nn.Module) else params, **options)

    def __reduce__(self) -> tuple[Any, ...]:
        return _empty, (self._kind,), self.__getstate__()

    def __getstate__(self) -> dict[str, Any]:
        self._update.store(self)
        return super().__getstate__()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._update = _torch.SharedUpdate(self._kind.__name__)
        super().__setstate__(state)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates with the gradients that the parameters have, as after loss.backward()."""
        if not self._update.is_attached(self):
            return self._kind.step(self, closure)
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._update.step(self)
        return loss

    def state_dict(self) -> dict[str, Any]:
        self._update.store(self)
        return super().state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self._update.restore(self)
