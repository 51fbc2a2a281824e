# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a program of Python as the interpreter would: its arguments, output, exit status and signals stay its own."""

from __future__ import annotations

import contextlib
import os
import runpy
import signal
import sys
from dataclasses import dataclass
from types import TracebackType

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
_RUNNERS = ("<frozen runpy>", runpy.__file__, contextlib.__file__)  # which stand between this package and the program


class Ended(SystemExit):
    """Ends a program that was measured."""


@dataclass(frozen=True)
class Program:
    """A file, or a module as of `python -m`, with its arguments."""

    name: str
    arguments: list[str]
    is_module: bool = False

    def run(self) -> None:
        """Runs it in this process, as __main__. What it raises comes out of here."""
        if self.is_module:
            sys.argv = [self.name, *self.arguments]
            runpy.run_module(self.name, run_name="__main__", alter_sys=True)
            return
        sys.argv = [self.name, *self.arguments]
        sys.path[0] = os.path.dirname(os.path.abspath(self.name))
        runpy.run_path(self.name, run_name="__main__")


def end_as(error: BaseException) -> None:
    """Ends this process as the interpreter does after `error`: with the program's own traceback and status."""
    if isinstance(error, SystemExit):
        raise error
    error = error.with_traceback(frames_of_program(error) or error.__traceback__)
    sys.excepthook(type(error), error, error.__traceback__)
    sys.stdout.flush()
    sys.stderr.flush()
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    sys.exit(1)


def frames_of_program(error: BaseException) -> TracebackType | None:
    """The frames from the program's first on; None: it was raised outside of the program."""
    inside = error.__traceback__
    while inside is not None:
        name = inside.tb_frame.f_code.co_filename
        if name not in _RUNNERS and not name.startswith(_PACKAGE):
            return inside
        inside = inside.tb_next
    return None
