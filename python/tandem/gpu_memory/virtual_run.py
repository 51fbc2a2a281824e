# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""One run of a program for GPUs on virtual devices: what filled each of them in a step of it."""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from tandem import _core
from tandem.errors import DeviceError, FileError
from tandem.gpu_memory.program import Ended
from tandem.gpu_memory.virtual_cuda import cuda_as_virtual_devices

_DEADLINE = 60  # seconds until a measurement has begun, or ended


class VirtualRun:
    """Steps are found by the optimizer that steps first. The measurement waits in a thread of its own while the program makes one."""

    def __init__(self, options: argparse.Namespace, name: str, count: int) -> None:
        self._options, self._name, self._count = options, name, count
        self._optimizer: torch.optim.Optimizer | None = None
        self._steps = 0
        self._report: _core.Memory | None = None
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()

    def around(self, call: Callable[[], object]) -> None:
        """Calls it, and tells of the step. What it raises comes out of here."""
        hook = register_optimizer_step_post_hook(self._after_update)
        try:
            with cuda_as_virtual_devices(self._count):
                if self._options.step == 1:
                    self._begin()
                call()
        except Ended:
            return
        finally:
            hook.remove()
            if self._thread:
                self._end()
                self._tell(f"it made {self._steps} of {self._options.step} steps; this is what came after the last")

    def _after_update(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        self._optimizer = self._optimizer or optimizer
        if optimizer is not self._optimizer:
            return
        self._steps += 1
        if self._steps == self._options.step - 1:
            self._begin()
        elif self._steps == self._options.step:
            self._end()
            self._tell(f"step {self._steps}")
            if self._options.then == "end":
                raise Ended(0)

    def _begin(self) -> None:
        begun = threading.Event()

        def wait() -> None:
            begun.set()
            self._ended.wait()

        def measure() -> None:
            self._report = _core.memory(wait)

        self._thread = threading.Thread(target=measure, daemon=True)
        self._thread.start()
        if not begun.wait(_DEADLINE):
            raise DeviceError(f"memory: the measurement has not begun after {_DEADLINE} s")

    def _end(self) -> None:
        self._ended.set()
        thread, self._thread = self._thread, None
        if thread:
            thread.join(_DEADLINE)

    def _tell(self, what: str) -> None:
        report, self._report = self._report, None
        if report is None:
            return
        print(f"{os.path.basename(self._name)}: {what}\n\n{report.text()}", file=sys.stderr, flush=True)
        for path, text in ((self._options.json, report.json), (self._options.report, report.html)):
            if path:
                try:
                    pathlib.Path(path).write_text(text())
                except OSError as error:
                    raise FileError(f"run: cannot write {path}: {error.strerror}") from error
