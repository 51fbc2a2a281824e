# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""One run of a program that knows nothing of tandem: what filled each GPU in a step of it."""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
from collections.abc import Callable

import torch.distributed

from tandem.errors import Error, FileError
from tandem.gpu_memory import history
from tandem.gpu_memory.children import measured_children
from tandem.gpu_memory.joint import joint_table
from tandem.gpu_memory.page import page
from tandem.runner.program import Ended
from tandem.gpu_memory.ranks import Job, Part, replace
from tandem.gpu_memory.report import GpuMemory
from tandem.gpu_memory.step_finder import StepFinder


class Run:
    """A run in this process. `job` is the one that it is part of; None: it is alone."""

    _current: Run | None = None  # a forked process has it, with its hooks

    def __init__(self, options: argparse.Namespace, name: str, job: Job | None = None) -> None:
        history.check_build()
        self._options, self._name, self._job = options, name, job
        self._number: int | None = None  # of a process among those that a program started
        self._finder = StepFinder(options.step, self._measured)
        self._told = False
        self._children = job
        Run._current = self

    @staticmethod
    def in_child(options: argparse.Namespace, name: str, job: Job, number: int) -> Run:
        """The run in a process that a measured program started, by a fork or anew."""
        run = Run._current or Run(options, name)
        run._job, run._number = job, number
        return run

    def around(self, call: Callable[[], object]) -> None:
        """Calls it, and tells of the step. What it raises comes out of here."""
        self._children = children = self._job or Job(str(os.getpid()))
        try:
            with measured_children(self._options, self._name, children):
                call()
        except Ended:
            return
        except Error:
            raise
        except BaseException as failure:  # the program's own
            self._end(failure)
            raise
        else:
            self._end(None)
        finally:
            if children is not self._job:
                self._tell_of_children(children)

    def _end(self, failure: BaseException | None) -> None:
        if not self._told:
            self._finder.stop(failure)
            self._tell(self._about_end(failure))

    def _measured(self) -> None:
        self._tell(f"step {self._finder.steps}")
        if self._options.then == "end":
            raise Ended(0)

    def _about_end(self, failure: BaseException | None) -> str:
        steps, wanted = self._finder.steps, self._options.step
        failed = failure is not None and (not isinstance(failure, SystemExit) or failure.__context__ is not None)
        what = f"it failed after {steps} steps" if failed else (
            f"it made {steps} of {wanted} steps" if steps else "it made no step of an optimizer")
        return f"{what}; this is what came after the last"

    def _tell(self, what: str) -> None:
        """Prints to stderr, as the program's output is its own."""
        self._told = True
        rank = self._rank() if self._job else None
        head = f"{os.path.basename(self._name)}{'' if rank is None else f', rank {rank}'}: {what}"
        try:
            report = self._finder.report()
            if report is None:
                if self._number is None and not (self._children and self._children.parts()):
                    print(f"{head}\n{_why_nothing()}", file=sys.stderr, flush=True)
                return
            print(f"{head}\n\n{report.text()}", file=sys.stderr, flush=True)
            self._write(head, report, rank)
        except Error as error:  # the program goes on
            print(f"{head}\n{error}", file=sys.stderr, flush=True)

    def _rank(self) -> int:
        """Of this process among those of the job."""
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return torch.distributed.get_rank()
        return int(os.environ["RANK"]) if self._number is None else self._number

    def _write(self, head: str, report: GpuMemory, rank: int | None) -> None:
        options, end = self._options, "" if rank is None else f".{rank}"
        try:
            if options.json:
                pathlib.Path(options.json + end).write_text(report.json())
            if options.snapshot:
                self._finder.save_snapshot(pathlib.Path(options.snapshot + end))
            parts = [Part(0, head, report)]
            if self._job and rank is not None:
                parts = self._job.add(Part(rank, head, report))
            if options.report:
                replace(pathlib.Path(options.report), page([(part.title, part.report) for part in parts]))
        except OSError as error:
            raise FileError(f"{options.command}: cannot write {error.filename}: {error.strerror}") from error
        if self._job and self._job.is_last(parts):
            print(f"\n{_jointly(self._name, parts)}", file=sys.stderr, flush=True)
            self._job.forget()

    def _tell_of_children(self, job: Job) -> None:
        """Of all processes that this one has started, once they have ended."""
        parts = job.parts()
        if len(parts) > 1:
            print(f"\n{_jointly(self._name, parts)}", file=sys.stderr, flush=True)
        job.forget()


def _jointly(name: str, parts: list[Part]) -> str:
    return f"{os.path.basename(name)}: {len(parts)} processes\n\n{joint_table(parts)}"


def _why_nothing() -> str:
    """Why nothing was recorded, at the end of a program."""
    try:
        history.check()
    except Error as error:
        return str(error)
    return "no module was called on a GPU in this process, so there is nothing to tell"
