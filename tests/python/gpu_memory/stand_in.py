# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Runs programs of PyTorch on four GPUs that a stand-in plays: the folder TANDEM_TORCH_STAND_IN has its libraries."""

import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).parent
PROGRAMS = HERE / "programs"
DEADLINE = 100  # seconds of a program
FOLDER = os.environ.get("TANDEM_TORCH_STAND_IN", "")
LIBRARIES = ("libcudart.so.13", "libcuda.so.1", "libnccl.so.2")

needed = unittest.skipUnless(
    FOLDER and all(pathlib.Path(FOLDER, name).exists() for name in LIBRARIES),
    "no stand-in for PyTorch's GPUs: TANDEM_TORCH_STAND_IN is not its folder")


def run(*arguments, mib=16384, gpus=4, alone=False):
    """Runs the interpreter with `arguments`, with GPUs of so many MiB; alone: with those of the machine. What it prints is text."""
    environment = os.environ | {
        "LD_PRELOAD": " ".join(str(pathlib.Path(FOLDER, name)) for name in LIBRARIES),
        "PYTHONPATH": os.pathsep.join([str(PROGRAMS), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "TANDEM_STAND_IN_GPUS": str(gpus), "TANDEM_STAND_IN_MIB": str(mib), "OMP_NUM_THREADS": "1"}
    if alone:
        environment["LD_PRELOAD"] = ""
    return subprocess.run([sys.executable, "-B", "-W", "ignore", *map(str, arguments)], capture_output=True, text=True, check=False,
                          timeout=DEADLINE, env=environment)
