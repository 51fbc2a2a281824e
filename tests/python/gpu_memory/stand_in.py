# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Runs programs of PyTorch on GPUs that tandem.stand_in plays: TANDEM_STAND_IN is its folder."""

import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).parent
PROGRAMS = HERE / "programs"
DEADLINE = 100  # seconds of a program
FOLDER = os.environ.get("TANDEM_STAND_IN", "")

needed = unittest.skipUnless(FOLDER and pathlib.Path(FOLDER, "lib", "libtandem_stand_in_ops.so").exists(),
                             "no stand-in for PyTorch's GPUs: TANDEM_STAND_IN is not its folder")


def run(*arguments, mib=16384):
    """Runs the interpreter with `arguments` on four GPUs of so many MiB. What it prints is text."""
    return run_alone(FOLDER, "--memory", f"{mib}MiB", *arguments)


def run_alone(*arguments):
    """Runs the interpreter with `arguments` on the machine as it is."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(PROGRAMS), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=DEADLINE,
                          env=environment)
