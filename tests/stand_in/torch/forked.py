# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a program in a forked process for each line of stdin, and prints its status: for launched.Forks."""

import json
import os
import runpy
import signal
import sys

import torch._dynamo  # noqa: F401    which the first step of an optimizer would import, with all of PyTorch


def become(folder, deadline, arguments, variables):
    """The forked process: the program, with its own output."""
    signal.alarm(deadline)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "output"), (2, "errors")):
        os.dup2(os.open(os.path.join(folder, name), os.O_CREAT | os.O_WRONLY), number)
    os.environ.update(variables)
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
        runpy.run_path(sys.argv[0], run_name="__main__")


for line in sys.stdin:
    child = os.fork()
    if child == 0:
        become(*json.loads(line))
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
