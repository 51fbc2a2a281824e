# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Sees the steps of tandem.DataParallel, whose loss runs in the replicas' threads, each of which then goes backward."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tandem.gpu_memory.marks import Marks
from tandem.gpu_memory.module_hooks import ModuleHooks
from tandem.gpu_memory.step_hooks import StepHooks


class WrapperSteps:
    """Replaces tandem.DataParallel.step while it is attached, where that class is loaded."""

    def __init__(self, marks: Marks, modules: ModuleHooks, steps: StepHooks) -> None:
        self.use(marks)
        self._modules, self._steps = modules, steps
        self._former: Callable[..., Any] | None = None

    def use(self, marks: Marks) -> None:
        self._marks = marks

    def attach(self) -> None:
        loaded = sys.modules.get("tandem.data_parallel")
        if loaded is None:
            return
        former = self._former = loaded.DataParallel.step

        def step(wrapper: Any, batch: Any, loss: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            self._marks.set("step")
            return former(wrapper, batch, self._watched(loss), *args, **kwargs)

        loaded.DataParallel.step = step

    def detach(self) -> None:
        former, self._former = self._former, None
        if former is not None:
            sys.modules["tandem.data_parallel"].DataParallel.step = former

    def _watched(self, loss: Callable[..., Any]) -> Callable[..., Any]:
        def watched(replica: Any, part: Any) -> Any:
            thread = self._modules.thread
            thread.in_step = True
            self._marks.set("loss")
            try:
                value = loss(replica, part)
            finally:
                thread.in_step = False
            self._steps.begin_backward(value[0] if isinstance(value, tuple) else value)
            return value

        return watched
