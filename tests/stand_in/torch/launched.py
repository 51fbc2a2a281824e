# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a program on the stand-in in a process of its own, with a deadline."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LAUNCHER = os.environ["TANDEM_STAND_IN"]  # the folder of tandem.stand_in


@dataclasses.dataclass
class Ended:
    status: int  # of the process; below 0: a signal
    output: str
    errors: str
    reports: list  # of {"kind", "name", "text"}


def launch(program, *options, deadline=60, arguments=()):
    """A program's text, with the launcher's options."""
    with tempfile.TemporaryDirectory() as folder:
        lines, file = pathlib.Path(folder, "reports"), pathlib.Path(folder, "program.py")
        file.write_text(program, encoding="utf-8")
        done = subprocess.run([sys.executable, "-B", LAUNCHER, "--reports", str(lines), *options, str(file), *arguments],
                              capture_output=True, text=True, timeout=deadline, check=False)
        reports = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()] if lines.exists() else []
    return Ended(done.returncode, done.stdout, done.stderr, reports)
