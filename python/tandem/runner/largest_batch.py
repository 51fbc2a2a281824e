# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The option --largest-batch: a program is run with a few batches, up to the step that is looked at, and lines go through its peaks."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from tandem.errors import DeviceError, InvalidArgument
from tandem.gpu_memory.batch_model import check_rows, model_of
from tandem.gpu_memory.report import GpuMemory
from tandem.runner.written import write_file

_PLACE = "{rows}"
_TOLD_LINES = 15  # of what a program that failed has said last


def numbers_of(text: str) -> list[int]:
    """[32, 64] of "32,64"."""
    try:
        return check_rows([int(number) for number in text.split(",")])
    except (ValueError, InvalidArgument):
        raise argparse.ArgumentTypeError(f"{text} is not two or more different numbers of rows, such as 32,64") from None


def tell_largest_batch(options: argparse.Namespace, command: list[str]) -> None:
    """Runs PROGRAM.py ARGUMENTS once for each number of rows, which takes the place of {rows} in the arguments.

    @throws InvalidArgument  no argument has {rows}.
    @throws DeviceError      the program made no step with one of the numbers.
    """
    if not any(_PLACE in word for word in command):
        raise InvalidArgument(f"{options.command}: --largest-batch puts its numbers in the place of {_PLACE} in the program's arguments, and none has it; "
                              f"write {' '.join(command)} --batch-size {_PLACE}, with the program's own option")
    name = os.path.basename(next(word for word in command if word != "-m"))
    measured = {}
    for rows in options.largest_batch:
        print(f"{name}: a run with {rows} rows", file=sys.stderr, flush=True)
        measured[rows] = _measured([word.replace(_PLACE, str(rows)) for word in command], name, options, rows)
    model = model_of(measured)
    most = model.largest_batch()
    found = "no batch is too large: no peak grows with it" if most is None else f"about {most} rows fit, by the lines through these peaks"
    print(f"\n{name}: {found}\n\n{model.text()}\n\nWhat the allocator loses by fragments comes on top: leave it a tenth, if in doubt.",
          file=sys.stderr, flush=True)
    if options.json:
        write_file(options.json, model.json())


def _measured(words: list[str], name: str, options: argparse.Namespace, rows: int) -> GpuMemory:
    with tempfile.TemporaryDirectory() as folder:
        numbers = pathlib.Path(folder) / "memory.json"
        done = subprocess.run([sys.executable, "-m", "tandem", "run", "--step", str(options.step), "--json", str(numbers), *words],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if done.returncode != 0 or f"{name}: step {options.step}\n" not in done.stdout or not numbers.exists():
            last = "\n".join(done.stdout.splitlines()[-_TOLD_LINES:])
            raise DeviceError(f"{options.command}: --largest-batch: the program made no step {options.step} with {rows} rows, and ended with status {done.returncode}; "
                              f"give numbers that fit. It said at last:\n{last}")
        return GpuMemory.from_dict(json.loads(numbers.read_text()))
