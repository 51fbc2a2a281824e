# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What ptxas says of each kernel where it is told to be verbose: registers, stack, spills, shared memory."""

import re

ENTRY = re.compile(r"Compiling entry function '([^']+)' for 'sm_(\d+)[a-z]?'")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
CUMULATIVE = re.compile(r"(\d+) bytes cumulative stack size")
SHARED = re.compile(r"(\d+) bytes smem")


def number(pattern, line):
    match = pattern.search(line)
    return int(match.group(1)) if match else 0


def read(text):
    """{(architecture, mangled name): {"registers", "stack", "spills", "shared"}}, all but registers in bytes.

    A function that a kernel calls has a stack of its own, which ptxas adds up as the cumulative one.
    """
    kernels, kernel = {}, None
    for line in text.splitlines():
        if match := ENTRY.search(line):
            name, architecture = match.groups()
            kernel = kernels[int(architecture), name] = {"registers": 0, "stack": 0, "spills": 0, "shared": 0}
        elif kernel is not None and (match := STACK.search(line)):
            stack, stores, loads = map(int, match.groups())
            kernel["stack"] = max(kernel["stack"], stack)
            kernel["spills"] += stores + loads
        elif kernel is not None and USED.search(line):
            kernel["registers"] = number(USED, line)
            kernel["shared"] = number(SHARED, line)
            kernel["stack"] = max(kernel["stack"], number(CUMULATIVE, line))
    return kernels
