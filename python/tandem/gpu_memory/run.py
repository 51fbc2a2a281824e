# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem run --memory PROGRAM: what filled each GPU in a step of a program that knows nothing of tandem."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys

from tandem.errors import Error
from tandem.gpu_memory.program import Ended, Program, end_as

_USAGE = "tandem run --memory [--step N] [--then end|continue] [--report FILE.html] [--json FILE] [--snapshot FILE.pickle] [--devices cuda:N] (PROGRAM.py | -m MODULE) [ARGUMENTS]"


def main(arguments: list[str]) -> None:
    """The command, with what stands behind its name."""
    options = _parser().parse_args(arguments)
    if options.program and all(name.endswith(".pickle") for name in options.program):
        _tell_of_files([pathlib.Path(name) for name in options.program], options)
        return
    if options.module:
        name, *rest = options.module
    elif options.program:
        name, *rest = options.program
    else:
        sys.exit(f"usage: {_USAGE}")
    if options.devices:
        _on_stand_in(options.devices, arguments)
    try:
        Run(options, Program(name, rest, bool(options.module))).go()
    except Error as error:
        sys.exit(f"tandem: {error}")


def _tell_of_files(paths: list[pathlib.Path], options: argparse.Namespace) -> None:
    """Prints what snapshots say, and writes one page for all of them."""
    from tandem.gpu_memory.page import page
    from tandem.gpu_memory.snapshot_file import read

    try:
        reports = [(path.name, read(path)) for path in paths]
    except Error as error:
        sys.exit(f"tandem: {error}")
    print("\n\n".join(f"{name}\n\n{report.text()}" for name, report in reports))
    if options.report:
        pathlib.Path(options.report).write_text(page(reports))
    if options.json:
        told = [report.as_dict() for _, report in reports]
        pathlib.Path(options.json).write_text(json.dumps(told[0] if len(told) == 1 else told))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("tandem run", usage=_USAGE, description=__doc__)
    parser.add_argument("--memory", action="store_true", help="tell what filled each GPU (the default)")
    parser.add_argument("--step", type=_positive, default=3, help="the step to measure, from 1 (3)")
    parser.add_argument("--then", choices=("end", "continue"), default="end", help="what the program does after that step (end)")
    parser.add_argument("--report", metavar="FILE.html", help="write a page, for all ranks of this host")
    parser.add_argument("--json", metavar="FILE", help="write the numbers")
    parser.add_argument("--snapshot", metavar="FILE.pickle", help="write what pytorch.org/memory_viz shows, with causes")
    parser.add_argument("--devices", metavar="cuda:N", help="GPUs that a stand-in plays, on a machine without one")
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="a module, as of python -m")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("the first step is 1")
    return number


def _on_stand_in(devices: str, arguments: list[str]) -> None:
    """Becomes the same command on GPUs of the stand-in."""
    kind, _, count = devices.partition(":")
    folder = pathlib.Path(__file__).parents[1] / "stand_in"
    if kind != "cuda" or not count.isdigit() or int(count) < 1:
        sys.exit(f"tandem: run: --devices {devices}: expected cuda:N, such as cuda:4")
    if not (folder / "lib" / "libtandem_stand_in_ops.so").exists():
        sys.exit(f"tandem: run: --devices {devices}: this build has no stand-in for GPUs; build the target tandem_torch_stand_in")
    place = next(i for i, argument in enumerate(arguments) if argument.startswith("--devices"))
    rest = arguments[:place] + arguments[place + (1 if "=" in arguments[place] else 2):]
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, str(folder), "--gpus", count, "-m", "tandem", "run", *rest])


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
