#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that two examples differ, below their heads, by what the head of the second one shows.

usage: check_diff.py FIRST SECOND [ADDED]

ADDED is the number of lines that the second one has and the first has not; more are a failure.
"""

import difflib
import os
import sys

from example_file import ExampleFile


def main(first, second, added=None):
    a, b = ExampleFile(first), ExampleFile(second)
    title = f"diff {os.path.basename(first)} {os.path.basename(second)}:"
    shown = b.block(title)
    lines = difflib.unified_diff(a.program, b.program, n=0, lineterm="")
    found = [f"{line[0]} {line[1:].strip()}" for line in lines if line[:3] not in ("---", "+++") and line[0] in "+-"]
    if found != shown:
        return "\n".join([f"the head of {second} shows", *shown, "and the files differ by", *found])
    count = sum(line[0] == "+" for line in found)
    if added is not None and count != int(added):
        return f"{second} has {count} lines of its own, not {added}"
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
