# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the steps of a program that knows nothing of tandem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook


class Steps:
    """Counts the updates of the optimizer that is the first to make one, and calls after(optimizer) at each. A block."""

    def __init__(self, after: Callable[[torch.optim.Optimizer], None]) -> None:
        self.made = 0
        self._after = after
        self._optimizer: torch.optim.Optimizer | None = None

    def __enter__(self) -> Steps:
        self._hook = register_optimizer_step_post_hook(self._after_update)
        return self

    def __exit__(self, *_: Any) -> None:
        self._hook.remove()
        self._optimizer = None  # with all that it holds

    def _after_update(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        self._optimizer = self._optimizer or optimizer
        if optimizer is self._optimizer:
            self.made += 1
            self._after(optimizer)
