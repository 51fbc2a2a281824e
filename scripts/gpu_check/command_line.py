# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-check pack, brief, torch, torch-memory, bundle and run."""

import argparse
import pathlib
import signal
import sys
import time

from . import bundle, pack
from .brief import check as brief
from .check import Check
from .parts import PARTS
from .torch_memory import check as torch_memory
from .torch_training import check as torch_training

ROOT = pathlib.Path(__file__).resolve().parents[2]

ABOUT = """\
Builds, proves and measures the CUDA backend on a machine with a GPU.

In ten minutes, built here:

  here      scripts/gpu-check pack DIR      builds DIR/tandem-gpu-pack.tar.xz, at most 45 MiB
  there     tar -xf tandem-gpu-pack.tar.xz
            tandem-gpu-pack/scripts/gpu-check brief --out OUT

That machine needs a GPU with its driver, Python 3.9, and CUDA's libraries, which PyTorch has brought if it is there.

In 25 minutes or more, built there:

  here      scripts/gpu-check bundle DIR    writes DIR/tandem-gpu-check.tar.xz, at most 60 MiB
  there     tar -xf tandem-gpu-check.tar.xz
            tandem-gpu-check/source/scripts/gpu-check run --quick

That machine needs a GPU with its driver, nvcc 12.8, cmake 3.25, g++ 12 and Python 3.9, or later ones of them, and
ninja or make. On a machine with tandem's packages (scripts/setup), `run` works from a checkout without a bundle.

Neither needs a network. The comparisons need PyTorch, and the sanitizer needs compute-sanitizer. docs/gpu-check.md
says more."""

PACK = f"""\
Builds the library, the program, some tests and the benchmarks for one kind of GPU, and writes them into
DIR/{pack.FILE}, with CUDA's own libraries left out. The build stays in build/gpu-pack. No GPU is needed."""

BRIEF = """\
Runs the stages of a pack in this order, each within its time, and ends by itself:

  roofs      25 s   whether a library is missing, what the GPU is, a copy, a product
  tests      60 s   ops, comm and some of parallel on cuda:0x4, in shards at once
  gpt2       45 s   a training step against PyTorch, in turn; where its time goes
  products   45 s   the products of gpt2 by shape: forward, and both gradients
  models     60 s   mlp, cnn, gpt and resnet50 against PyTorch
  logical    60 s   mlp on cuda:0x4: with 8 and 32 connections, and a trace
  sanitizer  60 s   racecheck and memcheck of new kernels
  ncu        45 s   three kernels
  compile   120 s   gpt2 against torch.compile

After each stage the results are in results.json and report.md in the folder of --out, and the table is printed. A
stage that needs more than its time is killed, and the next one begins.

exit status: 0 all done and passed; 1 something failed, is missing on this machine, or nothing ran on a GPU;
2 wrong call; 3 repeat the same command to continue"""

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

TORCH = """\
Trains by tandem on one of PyTorch's GPUs, in these stages, and ends by itself:

  adapter   150 s   what is here; tandem's adapter for this PyTorch is built if the package has none
  cases      75 s   PyTorch's own cases of DataParallel on cuda:0x4
  exactness  60 s   modes and chunks on cuda:0x4, beside one device
  overhead   45 s   a step on small layers
  resnet50   60 s   beside plain PyTorch and torch.nn.DataParallel
  gpt2       75 s   the same
  memory     45 s   what tandem.memory tells of a step

It needs PyTorch for CUDA and a built tandem: a wheel of scripts/wheel by --wheel, or the package that Python finds.
What a stage has told is in results.json and report.md in the folder of --out before the next one begins.

exit status: 0 all done and passed; 1 something failed, or nothing ran on a GPU; 2 wrong call, or no tandem;
3 repeat the same command to continue"""

BUDGET, QUICK_BUDGET, BRIEF_SECONDS = 540, 1500, 530


def add_pack(commands):
    make = commands.add_parser("pack", help="build the pack for a machine with a GPU", description=PACK,
                               formatter_class=argparse.RawDescriptionHelpFormatter)
    make.add_argument("folder", metavar="DIR", type=pathlib.Path)
    make.add_argument("--arch", default="90", help="CUDA architecture (default: %(default)s)")
    make.add_argument("--stand-in", action="store_true", help="build over the tests' stand-in for a GPU, to try brief")


def add_brief(commands):
    brief_ = commands.add_parser("brief", help="run a pack on this machine, in ten minutes", description=BRIEF,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    brief_.add_argument("--pack", metavar="DIR", type=pathlib.Path, default=ROOT, help="the unpacked pack (default: this one)")
    brief_.add_argument("--out", type=pathlib.Path, required=True, help="folder of the results")
    brief_.add_argument("--seconds", type=float, default=BRIEF_SECONDS, help="when it ends (default: %(default)s)")


def add_torch(commands):
    command = commands.add_parser("torch", help="check training on one of PyTorch's GPUs, in nine minutes", description=TORCH,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("--out", type=pathlib.Path, required=True, help="folder of the results")
    command.add_argument("--wheel", type=pathlib.Path, help="a wheel of tandem for this Python (default: the package that it finds)")
    command.add_argument("--small", action="store_true", help="sizes for the stand-in for PyTorch's CUDA, to try the script")
    command.add_argument("--seconds", type=float, default=torch_training.SECONDS, help="when it ends (default: %(default)s)")


def add_torch_memory(commands):
    command = commands.add_parser("torch-memory", help="check what is told of the memory of PyTorch's GPUs, in eight minutes",
                                  description="Compares what tandem memory tells with the allocator's, the driver's and nvidia-smi's figures. "
                                  "It needs PyTorch with CUDA and no build; each stage's results are written before the next begins.")
    command.add_argument("--out", type=pathlib.Path, required=True, help="folder of the results")
    command.add_argument("--seconds", type=float, default=torch_memory.SECONDS, help="when it ends (default: %(default)s)")


def parse(arguments):
    parser = argparse.ArgumentParser(prog="gpu-check", description=ABOUT,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("bundle", help="write the bundle for another machine", description="Writes "
                               f"DIR/{bundle.FILE}: sources of HEAD, GoogleTest, headers and shared libraries.")
    make.add_argument("folder", metavar="DIR", type=pathlib.Path)
    add_pack(commands)
    add_brief(commands)
    add_torch(commands)
    add_torch_memory(commands)
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
    if args.command in ("brief", "torch", "torch-memory") and args.seconds <= 0:
        parser.error("--seconds must be above 0")
    if "out" in args:
        there = next(path for path in (args.out, *args.out.parents) if path.exists())
        if not there.is_dir():
            parser.error(f"--out {args.out}: {there} is a file; name a folder")
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


def write(args):
    """Writes the bundle or the pack, and returns the exit status."""
    try:
        path = (bundle.make(ROOT, args.folder) if args.command == "bundle" else
                pack.make(ROOT, args.folder, args.arch, args.stand_in))
    except bundle.BundleError as e:
        print(f"gpu-check: {e}", file=sys.stderr)
        return 1
    say(f"{path}: {path.stat().st_size / 2**20:.1f} MiB")
    return 0


def main(arguments=None):
    started = time.monotonic()
    args = parse(arguments)
    if args.command == "run":
        return run(args)
    if args.command in ("brief", "torch"):
        signal.signal(signal.SIGTERM, end_steps)
        return (brief if args.command == "brief" else torch_training).run(args, say, started)
    if args.command == "torch-memory":
        return torch_memory.run(args.out, args.seconds, say)
    return write(args)
