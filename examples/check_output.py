#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Runs an example and compares what it prints with the "Expected output:" in the head of its source.

usage: check_output.py SOURCE PROGRAM [ARGUMENT ...]

Text and whole numbers are equal; numbers with a point may differ by a few per cent, since rounding
differs between machines and training amplifies it.
"""

import re
import subprocess
import sys

from example_file import ExampleFile, command

DECIMAL = re.compile(r"-?\d+\.\d+")
RELATIVE, ABSOLUTE = 0.05, 0.02


def same(expected, printed):
    if DECIMAL.sub("#", expected) != DECIMAL.sub("#", printed):
        return False
    pairs = zip(map(float, DECIMAL.findall(expected)), map(float, DECIMAL.findall(printed)))
    return all(abs(a - b) <= max(ABSOLUTE, RELATIVE * abs(a)) for a, b in pairs)


def main(source, program, *arguments):
    expected = ExampleFile(source).block("Expected output:")
    run = subprocess.run([*command(program), *arguments], stdout=subprocess.PIPE, encoding="utf-8", timeout=150)
    print(run.stdout, end="")
    printed = run.stdout.splitlines()
    if run.returncode != 0:
        return f"{program} ended with {run.returncode}"
    if len(printed) != len(expected):
        return f"{len(printed)} lines were printed, the head of {source} has {len(expected)}"
    for number, (a, b) in enumerate(zip(expected, printed), 1):
        if not same(a, b):
            return f"line {number} of the output: expected '{a}', got '{b}'"
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
