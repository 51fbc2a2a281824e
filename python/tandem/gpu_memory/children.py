# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that a measured program starts by multiprocessing, as torch.multiprocessing.spawn does: each measures itself."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import current_process
from multiprocessing.process import BaseProcess
from typing import Any

from tandem.gpu_memory.ranks import Job

_WORKERS = "torch.utils.data"  # they prepare batches


@dataclass(frozen=True)
class Measured:
    """What such a process calls, in place of `target`."""

    target: Callable[..., Any]
    options: argparse.Namespace
    name: str  # of the program
    job: Job

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        from tandem.gpu_memory.run import Run

        number = current_process()._identity[-1] - 1
        Run.in_child(self.options, self.name, self.job, number).around(lambda: self.target(*args, **kwargs))


@contextlib.contextmanager
def measured_children(options: argparse.Namespace, name: str, job: Job) -> Iterator[None]:
    """Until the end of the block each process that this one starts measures itself, but for the workers of a DataLoader."""
    start = BaseProcess.start

    def start_measured(process: Any) -> None:
        target = process._target
        if target is not None and not target.__module__.startswith(_WORKERS):
            process._target = Measured(target, options, name, job)
        start(process)

    setattr(BaseProcess, "start", start_measured)
    try:
        yield
    finally:
        setattr(BaseProcess, "start", start)
