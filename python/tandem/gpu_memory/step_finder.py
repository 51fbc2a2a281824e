# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the steps of a program that knows nothing of tandem, by its optimizer, and records them up to the one that is wanted."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as modules

from tandem.errors import Error
from tandem.gpu_memory.module_paths import CompiledModules
from tandem.gpu_memory.recorder import Recorder
from tandem.gpu_memory.report import GpuMemory


class StepFinder:
    """Records from the first module that is called on, each step anew, until `wanted` steps were made.

    So a program that fails before has a recording, too. A step ends where the optimizer that stepped first has stepped again.
    """

    def __init__(self, wanted: int, done: Callable[[], None]) -> None:
        self.steps = 0
        self._wanted, self._done = wanted, done
        self._optimizer: torch.optim.Optimizer | None = None
        self._recorder = Recorder()
        self._recorder.on_update(self._after_update)
        self._recorder.watch_communicators()
        self._state = "waiting"
        self._problem: Error | None = None
        self._compiled = CompiledModules()
        self._compiled.begin()
        self._handle = modules.register_module_forward_pre_hook(self._before_module)

    def stop(self, failure: BaseException | None = None) -> None:
        """Ends the search, as the program did by `failure`; nothing of it is left in the program."""
        self._handle.remove()
        self._compiled.end()
        self._recorder.forget_communicators()
        if self._state == "recording":
            self._recorder.stop(failure)
            self._state = "recorded"

    def report(self) -> GpuMemory | None:
        """Of the step that was wanted, or of what came before the end; None: nothing was recorded. After stop().

        @throws Error  why it could not be recorded.
        """
        if self._problem:
            raise self._problem
        return self._recorder.report() if self._state == "recorded" else None

    def save_snapshot(self, path: pathlib.Path) -> None:
        """What report() tells, for PyTorch's memory_viz."""
        self._recorder.save_snapshot(path)

    def _before_module(self, module: nn.Module, inputs: Any) -> None:
        if torch.compiler.is_compiling():
            return  # no module is called
        if self._state == "waiting" and self._problem is None and torch.cuda.is_initialized():
            self._handle.remove()
            try:
                self._recorder.start()
            except Error as error:  # the program goes on
                self._problem = error.with_traceback(None)  # whose frames would keep tensors
                return
            self._state = "recording"
            self._recorder.enter(module, inputs)

    def _after_update(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizer = self._optimizer or optimizer
        if optimizer is not self._optimizer:
            return
        self.steps += 1
        if self.steps == self._wanted:
            self.stop()
            self._done()
        else:
            self._recorder.restart()
            if self.steps == self._wanted - 1:
                self._recorder.note_older()
