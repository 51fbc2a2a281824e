#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that two programs print the same, but for the last digit or so of numbers with a point.

usage: check_same_output.py FIRST SECOND
"""

import re
import subprocess
import sys

from example_file import command

DECIMAL = re.compile(r"-?\d+\.\d+")
ABSOLUTE = 2e-4  # of losses with four places: f32 sums rows in another order


def printed_by(program):
    return subprocess.run(command(program), stdout=subprocess.PIPE, encoding="utf-8", timeout=150, check=True).stdout


def main(first, second):
    a, b = printed_by(first), printed_by(second)
    print(a, b, sep="")
    if DECIMAL.sub("#", a) != DECIMAL.sub("#", b):
        return "the programs do not print the same text"
    for x, y in zip(DECIMAL.findall(a), DECIMAL.findall(b)):
        if abs(float(x) - float(y)) > ABSOLUTE:
            return f"the first program prints {x}, the second one {y}"
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
