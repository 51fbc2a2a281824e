# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-check bundle, scripts/gpu-check run."""

import argparse
import pathlib
import signal
import sys

from . import bundle
from .check import Check
from .parts import PARTS

ROOT = pathlib.Path(__file__).resolve().parents[2]

ABOUT = """\
Builds, proves and measures the CUDA backend on a machine with a GPU.

  here      scripts/gpu-check bundle DIR    writes DIR/tandem-gpu-check.tar.xz, at most 60 MiB
  there     tar -xf tandem-gpu-check.tar.xz
            tandem-gpu-check/source/scripts/gpu-check run --quick

That machine needs a GPU with its driver, nvcc 12.8, cmake 3.25, g++ 12 and Python 3.9, or later ones of them, and
ninja or make. It needs no network and no packages. The comparisons need PyTorch, and the part sanitizer needs
compute-sanitizer. On a machine with tandem's packages (scripts/setup), `run` works from a checkout without a bundle.
docs/gpu-check.md says more."""

RUN = """\
Runs the parts that are not done yet, in this order:

  build      GoogleTest, the library, the program, tests and benchmarks, for all GPUs that a program sees
  device     whether tandem sees the GPUs; nothing follows if it does not
  tests      every test that runs on any device, on cuda:0, cuda:0x2, cuda:0x4 and cuda:0x8; and, if there are
             several GPUs, on two and on all of them, and through NCCL
  roofline   a copy, an addition, a product and an all-reduce, each beside what the GPU allows
  sanitizer  a subset under compute-sanitizer: racecheck, memcheck
  demo       tandem train and tandem compare --verify on cuda:0x4
  bench      training steps against PyTorch, eager and compiled, in turn; single ops

--quick does the same with fewer tests and comparisons, and ends within 25 minutes on 16 cores.

A failed test is run once more alone, and the report has both results. No call takes more than --budget seconds;
the next call continues where it ended. With --until-done one call goes on to the end. The results are results.json
and report.md in the folder of --out, written after every step, beside the state and the logs.

exit status: 0 all done and passed; 1 something failed, is missing on this machine, or nothing ran on a GPU;
2 wrong call; 3 repeat the same command to continue"""

BUDGET, QUICK_BUDGET = 540, 1500


def parse(arguments):
    parser = argparse.ArgumentParser(prog="gpu-check", description=ABOUT,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("bundle", help="write the bundle for another machine", description="Writes "
                               f"DIR/{bundle.FILE}: sources of HEAD, GoogleTest, headers and shared libraries.")
    make.add_argument("folder", metavar="DIR", type=pathlib.Path)
    run = commands.add_parser("run", help="run the parts on this machine", description=RUN,
                              formatter_class=argparse.RawDescriptionHelpFormatter)
    run.add_argument("--part", choices=PARTS, action="append", help="run only this part; may be repeated")
    run.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "gpu-check",
                     help="folder of the results (default: %(default)s)")
    run.add_argument("--quick", action="store_true", help="run the most telling steps of each part, within 25 minutes")
    time = run.add_mutually_exclusive_group()
    time.add_argument("--budget", type=float,
                      help=f"seconds that one call may take (default: {BUDGET}, with --quick {QUICK_BUDGET})")
    time.add_argument("--until-done", action="store_true", help="go on until no step is left, however long it takes")
    run.add_argument("--again", choices=PARTS, action="append", default=[], help="run this part again from its beginning")
    run.add_argument("--arch", help="CUDA architecture, e.g. 90 (default: those of this machine's GPUs)")
    run.add_argument("--rounds", type=int, default=5, help="rounds of a comparison (default: %(default)s)")
    run.add_argument("--stand-in", action="store_true",
                     help="run over the tests' stand-in for a GPU, on the host, to try this script")
    args = parser.parse_args(arguments)
    if args.command == "run":
        if args.budget is None:
            args.budget = QUICK_BUDGET if args.quick else BUDGET
        if args.budget <= 0 or args.rounds < 1:
            parser.error("--budget must be above 0, and --rounds at least 1")
    return args


def say(text):
    print(f"gpu-check: {text}", flush=True)


def end_steps(signal_number, _):
    """Ends as by control-C, so that the step that runs ends too."""
    raise KeyboardInterrupt(signal_number)


def run(args):
    signal.signal(signal.SIGTERM, end_steps)
    try:
        return Check(ROOT, args, say).run()
    except KeyboardInterrupt:
        say("interrupted; the report has what ended, and the same command continues")
        return 3


def main(arguments=None):
    args = parse(arguments)
    if args.command == "run":
        return run(args)
    try:
        path = bundle.make(ROOT, args.folder)
    except bundle.BundleError as e:
        print(f"gpu-check: {e}", file=sys.stderr)
        return 1
    say(f"{path}: {path.stat().st_size / 2**20:.1f} MiB")
    return 0
