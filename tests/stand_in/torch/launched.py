# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Runs programs on the stand-in in processes of their own, with a deadline: each in a new interpreter, or forked from one that has PyTorch."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

LAUNCHER = os.environ.get("TANDEM_STAND_IN", "")  # the folder of tandem.stand_in
DEADLINE = 100  # seconds of a program

needed = unittest.skipUnless(LAUNCHER and pathlib.Path(LAUNCHER, "lib", "libtandem_stand_in_ops.so").exists(),
                             "no stand-in for PyTorch's GPUs: TANDEM_STAND_IN is not its folder")


@dataclasses.dataclass
class Ended:
    status: int  # of the process; below 0: a signal
    output: str
    errors: str
    reports: list = dataclasses.field(default_factory=list)  # of {"kind", "name", "text"}


def run(*arguments, options=(), deadline=DEADLINE):
    """The interpreter with these arguments, on GPUs as the launcher's options say."""
    return run_alone(LAUNCHER, *options, *arguments, deadline=deadline)


def run_alone(*arguments, deadline=DEADLINE):
    """The interpreter with these arguments, on the machine as it is."""
    done = subprocess.run([sys.executable, "-B", *map(str, arguments)], capture_output=True, text=True, timeout=deadline, check=False)
    return Ended(done.returncode, done.stdout, done.stderr)


def run_without_torch(*arguments):
    """The interpreter with these arguments, which finds tandem and no other package."""
    package = next(pathlib.Path(folder) for folder in sys.path if pathlib.Path(folder, "tandem", "__main__.py").exists())
    done = subprocess.run([sys.executable, "-B", "-S", *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE, check=False,
                          env=os.environ | {"PYTHONPATH": str(package)})
    return Ended(done.returncode, done.stdout, done.stderr)


def launch(program, *options, deadline=60, arguments=()):
    """A program's text, with the launcher's options. Its reports are told, too."""
    with tempfile.TemporaryDirectory() as folder:
        lines, file = pathlib.Path(folder, "reports"), pathlib.Path(folder, "program.py")
        file.write_text(program, encoding="utf-8")
        ended = run(file, *arguments, options=("--reports", lines, *options), deadline=deadline)
        ended.reports = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()] if lines.exists() else []
    return ended


class Forks:
    """An interpreter that has imported PyTorch; it forks a process for each program, which starts in no time. `launcher`: what puts it on the stand-in."""

    def __init__(self, launcher=(LAUNCHER,)):
        self._server = subprocess.Popen([sys.executable, "-B", *launcher, pathlib.Path(__file__).with_name("forked.py")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, *arguments, **variables):
        """As run(), with variables of the environment."""
        with tempfile.TemporaryDirectory() as folder:
            self._server.stdin.write(json.dumps([folder, DEADLINE, list(map(str, arguments)), variables]) + "\n")
            self._server.stdin.flush()
            status = int(self._server.stdout.readline())
            output, errors = (pathlib.Path(folder, name).read_text() for name in ("output", "errors"))
        return Ended(status, output, errors)

    def close(self):
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait(DEADLINE)
