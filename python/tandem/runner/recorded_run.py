# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""One run of a program on virtual devices or on GPUs: what filled each device in a step of it, or what the step did."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable

import torch

import tandem
from tandem import _core
from tandem.errors import DeviceError
from tandem.gpu_memory import GpuMemory
from tandem.runner.program import Ended
from tandem.runner.steps import Steps
from tandem.runner.virtual_cuda import cuda_as_virtual_devices
from tandem.runner.written import write

_DEADLINE = 60  # seconds until a measurement has begun, or ended
_Report = _core.Memory | _core.Explanation | GpuMemory
_MEASURES: dict[str, Callable[[Callable[[], object]], _Report]] = {"memory": tandem.memory, "explain": tandem.explain}


class RecordedRun:
    """The measurement waits in a thread of its own while the program makes a step. Without a question nothing is measured.

    `count` is of virtual devices; 0: the program has GPUs.
    """

    def __init__(self, options: argparse.Namespace, name: str, count: int) -> None:
        self._options, self._name, self._count = options, name, count
        self._report: _Report | None = None
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._steps = Steps(self._after_update)

    def around(self, call: Callable[[], object]) -> None:
        """Calls it, and tells of the step. What it raises comes out of here."""
        try:
            with cuda_as_virtual_devices(self._count) if self._count else contextlib.nullcontext(), self._steps:
                if self._options.step == 1:
                    self._begin()
                call()
        except Ended:
            return
        finally:
            if self._thread:
                self._end()
                self._tell(f"it made {self._steps.made} of {self._options.step} steps; this is what came after the last")

    def _after_update(self, _: torch.optim.Optimizer) -> None:
        made = self._steps.made
        if made == self._options.step - 1:
            self._begin()
        elif made == self._options.step and self._thread:
            self._end()
            self._tell(f"step {made}")
            if self._options.then == "end":
                raise Ended(0)

    def _begin(self) -> None:
        if not self._options.question:
            return
        measure, begun = _MEASURES[self._options.question], threading.Event()

        def wait() -> None:
            begun.set()
            self._ended.wait()

        def measured() -> None:
            self._report = measure(wait)

        self._thread = threading.Thread(target=measured, daemon=True)
        self._thread.start()
        if not begun.wait(_DEADLINE):
            raise DeviceError(f"{self._options.question}: the measurement has not begun after {_DEADLINE} s")

    def _end(self) -> None:
        self._ended.set()
        thread, self._thread = self._thread, None
        if thread:
            thread.join(_DEADLINE)

    def _tell(self, what: str) -> None:
        report, self._report = self._report, None
        if report is None:
            return
        text = report.text().strip("\n")
        if self._count and isinstance(report, _core.Memory) and not _knows_causes(report):
            text += ("\n\nPyTorch does not say here what its memory is for: with --replace= tandem's wrapper says it, and with --devices "
                     f"cuda:{self._count} the causes are found for the program as it is")
        print(f"{os.path.basename(self._name)}: {what}\n\n{text}", file=sys.stderr, flush=True)
        write(self._options, report)


def _knows_causes(memory: _core.Memory) -> bool:
    return any(device["peak_by_category"]["parameter"] for device in json.loads(memory.json())["devices"])
