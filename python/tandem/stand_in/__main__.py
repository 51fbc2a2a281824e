# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a program of PyTorch on GPUs of the stand-in. The folder may be run as it is, too: python3 python/tandem/stand_in."""

import argparse
import os
import pathlib
import sys
from collections.abc import Mapping, Sequence

FOLDER = pathlib.Path(__file__).parent
LIBRARIES = ["libcudart.so.*", "libcuda.so.1", "libcupti.so.*", "libnccl.so.2", "libnvidia-ml.so.1", "libtandem_stand_in_threads.so"]
EPILOG = """A report names what is wrong: a missing wait or record_stream, the host in a GPU's memory, memory that is
not allocated, a kernel or a call that nobody wrote. What it proves, and what not, is in docs/torch-stand-in.md."""


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m tandem.stand_in", description=__doc__.split(". ", maxsplit=1)[0] + ".", epilog=EPILOG)
    p.add_argument("--gpus", metavar="N", help="GPUs of the machine (4)")
    p.add_argument("--memory", metavar="SIZE", help="memory of each GPU, such as 512MiB (16GiB)")
    p.add_argument("--seed", metavar="N", help="of the order in which streams run (1)")
    p.add_argument("--no-peers", action="store_true", help="GPUs do not reach each other's memory")
    p.add_argument("--fail", metavar="CALL:COUNT", action="append", default=[],
                   help="let the COUNT-th call fail, as cudaMalloc:3; all from it on: cudaMalloc:3+; with error 700: cudaEventRecord:1=700")
    p.add_argument("--deadline", metavar="SECONDS", help="after which a wait for another thread is a deadlock (60)")
    p.add_argument("--reports", metavar="FILE", help="add a line of JSON for each report")
    p.add_argument("--strict", action="store_true", help="a program with reports exits with status 1")
    p.add_argument("program", help="a file of Python, or -m and a module's name, or -c and a text")
    p.add_argument("arguments", nargs=argparse.REMAINDER, help="of the program")
    return p


def split(arguments: list[str]) -> tuple[list[str], list[str] | None]:
    """(own arguments, the program's): Python's -m and -c begin a program as a file does."""
    with_values = {option for action in parser()._actions if action.nargs is None for option in action.option_strings}
    i = 0
    while i < len(arguments) and arguments[i].startswith("-"):
        if arguments[i] in ("-m", "-c"):
            return [*arguments[:i], "-"], arguments[i:]
        i += 2 if arguments[i] in with_values else 1
    return arguments, None


def found(name: str) -> list[pathlib.Path]:
    return sorted((FOLDER / "lib").glob(name))


def environment(options: argparse.Namespace, before: Mapping[str, str]) -> dict[str, str]:
    """The variables of a process that runs on the stand-in."""
    given = {"GPUS": options.gpus, "MEMORY": options.memory, "SEED": options.seed, "PEERS": "0" if options.no_peers else None,
             "FAIL": ",".join(options.fail) or None, "DEADLINE": options.deadline, "STRICT": "1" if options.strict else None,
             "REPORTS": os.path.abspath(options.reports) if options.reports else None}
    after = dict(before)
    after.update({f"TANDEM_STAND_IN_{name}": value for name, value in given.items() if value is not None})
    after["LD_PRELOAD"] = ":".join([*(str(file) for name in LIBRARIES for file in found(name)), *filter(None, [before.get("LD_PRELOAD")])])
    after["PYTHONPATH"] = os.pathsep.join([str(FOLDER / "hook"), *filter(None, [before.get("PYTHONPATH")])])
    after.setdefault("TORCH_AUTOGRAD_SHUTDOWN_WAIT_LIMIT", "1")  # seconds for threads of backward, which may have nothing more to do
    if sys.dont_write_bytecode:
        after["PYTHONDONTWRITEBYTECODE"] = "1"
    after["TANDEM_STAND_IN_PYTORCH"] = (FOLDER / "lib" / "pytorch").read_text(encoding="utf-8")
    after["TANDEM_STAND_IN_OPS"] = str(FOLDER / "lib" / "libtandem_stand_in_ops.so")
    return after


def main(arguments: Sequence[str]) -> int:
    own, program = split(list(arguments))
    options = parser().parse_args(own)
    absent = [name for name in LIBRARIES if not found(name)]
    if absent:
        print(f"tandem.stand_in: {FOLDER / 'lib'} has no {absent[0]}; build the target tandem_torch_stand_in", file=sys.stderr)
        return 2
    command = [sys.executable, *(program or [options.program, *options.arguments])]
    sys.stdout.flush()
    os.execve(sys.executable, command, environment(options, os.environ))  # status and signals are the program's


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
