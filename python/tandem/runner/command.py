# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The command tandem run, with a question about a program of PyTorch. tandem memory PROGRAM.py is short for run --memory."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import pathlib
import re
import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn

from tandem._torch_versions import NoAdapter
from tandem.errors import Error, InvalidArgument
from tandem.runner.program import Program, end_as, frames_of_program
from tandem.runner.written import write_file

if TYPE_CHECKING:
    from tandem.gpu_memory.run import Run
    from tandem.runner.ddp_run import DdpRun
    from tandem.runner.plain_run import PlainRun
    from tandem.runner.recorded_run import RecordedRun

_FORMS = """\
python -m tandem {name} [OPTIONS] (PROGRAM.py | -m MODULE) [ARGUMENTS]
       python -m tandem memory [--report FILE.html] [--json FILE] SNAPSHOT.pickle..."""
_LAUNCHERS = ("torch.distributed.run", "torch.distributed.launch", "torch.distributed.launcher.api")
_ABOUT = """Runs a program of PyTorch, which stays as it is, and answers a question about a step of it: what filled each GPU (--memory), what was
done on which device and link (--explain), or what DistributedDataParallel would do (--compare-ddp). Files of
torch.cuda.memory._dump_snapshot are read as well."""
_EXAMPLES = """\
python -m tandem run train.py --lr 0.1                                what filled each GPU, where there are GPUs
python -m tandem run --devices cuda:4 train.py --lr 0.1               on any machine with PyTorch's build for CUDA
python -m tandem run --devices cpu:4 --explain train.py               on virtual devices, which need no CUDA at all
python -m tandem run --replace gpu0_bsz=40,mode=sharded train.py      its torch.nn.DataParallel becomes tandem's; it runs to its end
python -m tandem run --devices cpu:4 --replace= --memory train.py     the same with tandem's own options, up to the third step
python -m tandem run --devices cpu:4 --compare-ddp --report page.html train.py
python -m tandem run --largest-batch 32,64 train.py --batch {rows}    how many rows fit
torchrun --nproc-per-node 4 -m tandem run train.py                    one process for each GPU, one page for all"""


def main(name: str, arguments: list[str]) -> None:
    """The command, with what stands behind its name."""
    options = _parser(name).parse_args(arguments)
    if options.program and all(program.endswith(".pickle") for program in options.program):
        _tell_of_files([pathlib.Path(program) for program in options.program], options)
        return
    if not options.module and not options.program:
        taken = f", as --replace has taken {options.replace}: write --replace= {options.replace}" if (options.replace or "").endswith(".py") else ""
        _parser(name).error(f"there is no program: name one, such as train.py{taken}")
    program, *rest = options.module or options.program
    if options.module and program in _LAUNCHERS:
        sys.exit(f"tandem: {name}: {program} starts other processes, which are to be measured: write torchrun ... -m tandem {name} PROGRAM.py")
    kind, count = _devices(name, options.devices) if options.devices else ("", 0)
    _check_program(options, program)
    if kind == "cuda":
        _on_stand_in(count, name, arguments)
    try:
        _check(options, count)
        if options.largest_batch:
            from tandem.runner.largest_batch import tell_largest_batch

            return tell_largest_batch(options, ["-m", *options.module] if options.module else options.program)
        with _replacement(options, program):
            _run(options, program, count).around(Program(program, rest, bool(options.module)).run)
    except Error as error:
        if options.replace is not None and frames_of_program(error):  # of a wrapper in the program's hands
            end_as(error)
        sys.exit(f"tandem: {error}")
    except NoAdapter as error:
        if frames_of_program(error):
            end_as(error)
        sys.exit(str(error))
    except BaseException as failure:  # the program's own
        end_as(failure)


def explain(arguments: list[str]) -> None:
    """The command tandem explain FILE.json, of a trace of torch.profiler."""
    from tandem.gpu_memory.page import page
    from tandem.gpu_memory.trace_file import read_trace

    parser = argparse.ArgumentParser("python -m tandem explain", description="What filled each GPU, and what went over which link, "
                                     "as far as a trace of torch.profiler tells.")
    parser.add_argument("trace", metavar="TRACE.json[.gz]", type=pathlib.Path)
    parser.add_argument("--report", metavar="FILE.html", type=pathlib.Path, help="write the page of its memory")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="write the numbers")
    options = parser.parse_args(arguments)
    try:
        trace = read_trace(options.trace)
        print(trace.text())
        if options.report:
            write_file(options.report, page([(options.trace.name, trace.memory)]))
        if options.json:
            write_file(options.json, json.dumps(trace.as_dict()))
    except Error as error:
        sys.exit(f"tandem: {error}")


def tell_help(name: str) -> None:
    _parser(name).print_help()


def _check_program(options: argparse.Namespace, program: str) -> None:
    """Ends the process where the program, or PyTorch, is not there."""
    if importlib.util.find_spec("torch") is None:
        sys.exit(f"tandem: {options.command}: this is about programs of PyTorch, which is not installed: pip install torch")
    if options.module:
        sys.path[0] = os.getcwd()  # as python -m has it
        if importlib.util.find_spec(program.partition(".")[0]) is None:
            sys.exit(f"tandem: {options.command}: there is no module {program}")
    elif not os.path.isfile(program):
        sys.exit(f"tandem: {options.command}: there is no file {program}")


def _check(options: argparse.Namespace, virtual_devices: int) -> None:
    """Raises InvalidArgument for options that do not go together."""
    command = options.command
    if options.largest_batch:
        options.question = "largest-batch"
        taken = {"--replace": options.replace is not None, "--report": options.report, "--snapshot": options.snapshot,
                 "--then continue": options.then == "continue", "--devices cpu:N": virtual_devices}
        for option in (name for name, given in taken.items() if given):
            raise InvalidArgument(f"{command}: --largest-batch runs the program several times on GPUs, up to a step, and has numbers alone: leave out "
                                  f"{option}; without a GPU give --devices cuda:4")
    if options.question is None and options.replace is None:
        options.question = "memory"
    question = options.question
    if question in ("explain", "compare-ddp", "largest-batch"):
        from tandem.gpu_memory.ranks import Job

        job = Job.of_launcher()
        if job is not None:
            raise InvalidArgument(f"{command}: --{question} looks at one process, and torchrun has started {job.size} here: start the program without "
                                  "torchrun, or ask --memory, which tells of all processes")
    if not virtual_devices and question in ("explain", "compare-ddp"):
        import torch

        if not torch.cuda.is_available():
            raise InvalidArgument(f"{command}: --{question}: PyTorch sees no GPU; give --devices cpu:4 for virtual devices, or cuda:4 for a stand-in's")
    if question == "compare-ddp" and (options.replace is not None or options.then == "continue"):
        raise InvalidArgument(f"{command}: --compare-ddp trains copies of the model in each way, and ends the program: leave out --replace and "
                              "--then continue")
    if options.snapshot and (virtual_devices or question != "memory"):
        raise InvalidArgument(f"{command}: --snapshot is of PyTorch's own allocator: leave it out, or use --memory with --devices cuda:4")
    if question is None and (options.report or options.json):
        raise InvalidArgument(f"{command}: --{'report' if options.report else 'json'} of what? Give --memory or --explain beside --replace")


def _replacement(options: argparse.Namespace, program: str) -> contextlib.AbstractContextManager[None]:
    if options.replace is None:
        return contextlib.nullcontext()
    from tandem.runner.replacement import replacement

    return replacement(options.replace, program, options.command)


def _run(options: argparse.Namespace, program: str, virtual_devices: int) -> Run | RecordedRun | DdpRun | PlainRun:
    if options.question == "compare-ddp":
        from tandem.runner.ddp_run import DdpRun

        return DdpRun(options, program, virtual_devices)
    if virtual_devices or options.question == "explain":
        from tandem.runner.recorded_run import RecordedRun

        return RecordedRun(options, program, virtual_devices)
    if options.question is None:
        from tandem.runner.plain_run import PlainRun

        return PlainRun()
    from tandem.gpu_memory.ranks import Job
    from tandem.gpu_memory.run import Run

    return Run(options, program, Job.of_launcher())


def _tell_of_files(paths: list[pathlib.Path], options: argparse.Namespace) -> None:
    """Prints what snapshots say, and writes one page for all of them."""
    from tandem.gpu_memory.page import page
    from tandem.gpu_memory.snapshot_file import read

    try:
        reports = [(path.name, read(path)) for path in paths]
        print("\n\n".join(f"{name}\n\n{report.text()}" for name, report in reports))
        if options.report:
            write_file(options.report, page(reports))
        if options.json:
            told = [report.as_dict() for _, report in reports]
            write_file(options.json, json.dumps(told[0] if len(told) == 1 else told))
    except Error as error:
        sys.exit(f"tandem: {error}")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Names the option that was meant, where one is near to an unknown one."""
        wrong = re.search("unrecognized arguments: (--[^ =]+)", message)
        near = get_close_matches(wrong[1], self._option_string_actions, 1) if wrong else []
        super().error(f"{message}; did you mean {near[0]}?" if near else message)


def _parser(name: str) -> argparse.ArgumentParser:
    parser = _Parser(f"python -m tandem {name}", usage=_FORMS.format(name=name), description=_ABOUT,
                                     epilog=_EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter, add_help=False,
                                     allow_abbrev=False)  # --devices is looked for by its name
    parser.set_defaults(command=name)
    options = parser.add_argument_group("options")
    questions = options.add_mutually_exclusive_group()
    for question, what in (("memory", "what filled each GPU (the default without --replace)"),
                           ("explain", "what a step did, on which device and link"),
                           ("compare-ddp", "time, memory and bytes of a step by DataParallel and in the way of DDP")):
        questions.add_argument(f"--{question}", dest="question", action="store_const", const=question, help=f"tell {what}")
    questions.add_argument("--largest-batch", type=_rows, metavar="ROWS,ROWS", help="tell how many rows fit, from a run with each of these "
                           "numbers in the place of {rows} in the program's arguments")
    options.add_argument("--replace", metavar="OPTIONS", help="make the program's torch.nn.DataParallel a tandem.DataParallel, such as "
                         "gpu0_bsz=40,mode=sharded or chunk_sizes=40:72; --replace= has none")
    options.add_argument("--step", type=_positive, default=3, metavar="N", help="the step that is looked at, from 1 (3)")
    options.add_argument("--then", choices=("end", "continue"), default="end", help="what the program does after that step (end)")
    options.add_argument("--report", metavar="FILE.html", help="write a page, for all processes of this host")
    options.add_argument("--json", metavar="FILE", help="write the numbers")
    options.add_argument("--snapshot", metavar="FILE.pickle", help="write what pytorch.org/memory_viz shows, with causes")
    options.add_argument("--devices", metavar="cuda:N|cpu:N", help="GPUs that a stand-in plays, or virtual devices in the place of GPUs")
    options.add_argument("-h", "--help", action="help", help="print this")
    options.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="a module, as of python -m")
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("the first step is 1")
    return number


def _rows(text: str) -> list[int]:
    from tandem.runner.largest_batch import numbers_of

    return numbers_of(text)


def _devices(name: str, devices: str) -> tuple[str, int]:
    kind, _, count = devices.partition(":")
    if kind not in ("cuda", "cpu") or not count.isdigit() or int(count) < 1:
        sys.exit(f"tandem: {name}: --devices {devices}: expected cuda:N or cpu:N, such as cuda:4")
    return kind, int(count)


def _on_stand_in(count: int, name: str, arguments: list[str]) -> None:
    """Becomes the same command on GPUs of the stand-in."""
    folder = pathlib.Path(__file__).parents[1] / "stand_in"
    if not (folder / "lib" / "libtandem_stand_in_ops.so").exists():
        sys.exit(f"tandem: {name}: --devices cuda:{count}: this build has no stand-in for GPUs; build the target tandem_torch_stand_in, "
                 f"or use --devices cpu:{count}")
    place = next(i for i, argument in enumerate(arguments) if argument.startswith("--devices"))
    rest = arguments[:place] + arguments[place + (1 if "=" in arguments[place] else 2):]
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, str(folder), "--gpus", str(count), "-m", "tandem", name, *rest])
