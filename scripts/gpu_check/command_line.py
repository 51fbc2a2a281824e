# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-check bundle, scripts/gpu-check run."""

import argparse
import pathlib
import sys

from . import bundle, machine, parts, report, steps

ROOT = pathlib.Path(__file__).resolve().parents[2]

ABOUT = """\
Builds, proves and measures the CUDA backend on a machine with a GPU.

  here      scripts/gpu-check bundle DIR    writes DIR/tandem-gpu-check.tar.xz, at most 60 MiB
  there     tar -xf tandem-gpu-check.tar.xz
            tandem-gpu-check/source/scripts/gpu-check run

That machine needs nvcc (12.8 or later), cmake, ninja, g++ and Python, but no network and no packages. The
comparisons need PyTorch, and the part sanitizer needs compute-sanitizer. On a machine with tandem's packages
(scripts/setup), `run` works from a checkout without a bundle."""

RUN = """\
Runs the parts that are not done yet, in this order:

  build      GoogleTest, the library, the program, tests and benchmarks
  tests      every test that runs on any device, on cuda:0, cuda:0x2, cuda:0x4 and cuda:0x8
  sanitizer  a subset under compute-sanitizer: memcheck, racecheck
  demo       tandem train and tandem verify on cuda:0x4
  bench      training steps against PyTorch, eager and compiled, in turn; single ops

No call takes more than --budget seconds; the next call continues where it ended. The results are
results.json and report.md in the folder of --out, beside the state and the logs.

exit status: 0 all done and passed, 1 something failed, 2 wrong call, 3 repeat the same command to continue"""


def parse(arguments):
    parser = argparse.ArgumentParser(prog="gpu-check", description=ABOUT,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("bundle", help="write the bundle for another machine", description="Writes "
                               f"DIR/{bundle.FILE}: sources of HEAD, GoogleTest, headers and shared libraries.")
    make.add_argument("folder", metavar="DIR", type=pathlib.Path)
    run = commands.add_parser("run", help="run the parts on this machine", description=RUN,
                              formatter_class=argparse.RawDescriptionHelpFormatter)
    run.add_argument("--part", choices=parts.PARTS, action="append", help="run only this part; may be repeated")
    run.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "gpu-check",
                     help="folder of the results (default: %(default)s)")
    run.add_argument("--budget", type=float, default=540, help="seconds that one call may take (default: %(default)s)")
    run.add_argument("--again", choices=parts.PARTS, action="append", default=[], help="run this part again from its beginning")
    run.add_argument("--arch", help="CUDA architecture, e.g. 90 (default: this machine's GPU)")
    run.add_argument("--rounds", type=int, default=5, help="rounds of a comparison (default: %(default)s)")
    run.add_argument("--stand-in", action="store_true",
                     help="run over the tests' stand-in for a GPU, on the host, to try this script")
    args = parser.parse_args(arguments)
    if args.command == "run" and (args.budget <= 0 or args.rounds < 1):
        parser.error("--budget must be above 0, and --rounds at least 1")
    return args


def say(text):
    print(f"gpu-check: {text}", flush=True)


def run(args):
    missing = machine.missing_tools()
    if missing:
        say(f"not on this machine: {', '.join(missing)}")
        return 2
    gpu = machine.gpu()
    if not gpu and not args.stand_in:
        say(f"{parts.NO_GPU} that nvidia-smi knows: what needs one is skipped")
    arch = args.arch or gpu.get("compute_capability", "9.0").replace(".", "")
    out = args.out.resolve()
    state = steps.State(out)
    for part in args.again:
        state.forget(part)
    plan = parts.Plan(ROOT, out, arch, args.stand_in, args.rounds, gpu)
    todo = [step for part in args.part or parts.PARTS for step in parts.steps_of(part, plan)]
    left = [step.name for step in steps.run_all(todo, state, args.budget, say)]
    path = report.write(state, machine.describe(ROOT), args.stand_in, left)
    failed = [name for name, s in state.steps.items() if s["status"] == "failed"]
    say(f"{path}: {len(state.steps)} steps known, failed: {', '.join(failed) or 'none'}")
    if left:
        say(f"{len(left)} steps are left, from {left[0]} on: run the same command again (without --again)")
        return 3
    return 1 if failed else 0


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
