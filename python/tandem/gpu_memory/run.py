# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""One run of a program that knows nothing of tandem: what filled each GPU in a step of it."""

from __future__ import annotations

import argparse
import os
import pathlib
import sys

from tandem.errors import Error
from tandem.gpu_memory.program import Ended, Program, end_as


class Run:
    """One run of a program."""

    def __init__(self, options: argparse.Namespace, program: Program) -> None:
        from tandem.gpu_memory import history
        from tandem.gpu_memory.step_finder import StepFinder

        history.check_build()
        self._options, self._program = options, program
        self._finder = StepFinder(options.step, self._measured)
        self._told = False

    def go(self) -> None:
        failure: BaseException | None = None
        try:
            self._program.run()
        except Ended:
            return
        except Error:
            raise
        except BaseException as error:  # the program's own
            failure = error
        if not self._told:
            self._finder.stop(failure)
            self._tell(self._about_end(failure))
        if failure is not None:
            end_as(failure)

    def _measured(self) -> None:
        self._tell(f"step {self._finder.steps}")
        if self._options.then == "end":
            raise Ended(0)

    def _about_end(self, failure: BaseException | None) -> str:
        steps, wanted = self._finder.steps, self._options.step
        what = f"it failed after {steps} steps" if failure is not None and not isinstance(failure, SystemExit) else (
            f"it made {steps} of {wanted} steps" if steps else "it made no step of an optimizer")
        return f"{what}; this is what came after the last"

    def _tell(self, what: str) -> None:
        """Prints to stderr, as the program's output is its own."""
        self._told = True
        rank = os.environ.get("RANK")
        head = f"{os.path.basename(self._program.name)}{f', rank {rank}' if rank else ''}: {what}"
        try:
            report = self._finder.report()
        except Error as error:  # the program goes on
            print(f"{head}\n{error}", file=sys.stderr, flush=True)
            return
        if report is None:
            print(f"{head}\n{_why_nothing()}", file=sys.stderr, flush=True)
            return
        print(f"{head}\n\n{report.text()}", file=sys.stderr, flush=True)
        if self._options.json:
            pathlib.Path(self._options.json + (f".{rank}" if rank else "")).write_text(report.json())
        if self._options.snapshot:
            self._finder.save_snapshot(pathlib.Path(self._options.snapshot + (f".{rank}" if rank else "")))
        if self._options.report:
            from tandem.gpu_memory.rank_pages import write_page

            write_page(pathlib.Path(self._options.report), head, report, rank)


def _why_nothing() -> str:
    """Why nothing was recorded, at the end of a program."""
    from tandem.gpu_memory import history

    try:
        history.check()
    except Error as error:
        return str(error)
    return "no module was called on a GPU in this process, so there is nothing to tell"
