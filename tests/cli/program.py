# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the program whose path is the first argument of a test script."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

DEADLINE = 100  # seconds of one call of the program

# Small runs, so that a test takes parts of a second.
DIGITS = ["--data", "digits", "--batch", "64"]

# The commands that train on a data set, each in all its forms.
TRAINING = [["train"], ["compare"], ["compare", "--verify"], ["compare", "--html", "report.html"], ["memory"],
            ["explain", "--trace", "trace.json"]]


def environment(**extra):
    """This process's environment without the variables that would change the program's behaviour."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("TANDEM_") and k != "NO_COLOR"}
    return {**own, **extra}


def path():
    return os.environ["PROGRAM_UNDER_TEST"]


def modes_of(program):
    """All modes, as the program lists them where it refuses one."""
    refused = subprocess.run([program, "compare", "--modes", "none"], capture_output=True, text=True, timeout=DEADLINE,
                             env=environment(), check=False)
    return re.search(r"\{(.*)\}", refused.stderr).group(1).split(",")


MODES = modes_of(sys.argv[1])


class ProgramTest(unittest.TestCase):
    """A test with a directory of its own."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="tandem-test-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def file(self, name):
        return os.path.join(self.directory, name)

    def run_program(self, *arguments, **extra):
        return subprocess.run([path(), *arguments], capture_output=True, text=True, timeout=DEADLINE,
                              env=environment(**extra), cwd=self.directory, check=False)

    def succeed(self, *arguments, **extra):
        """Runs the program, which must succeed, and returns what it prints to stdout and stderr."""
        done = self.run_program(*arguments, **extra)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def fail_with(self, code, *arguments, says=(), **extra):
        """Asserts that a call ends with this exit code and one sentence that contains all of `says`."""
        done = self.run_program(*arguments, **extra)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        sentence = done.stderr.strip().splitlines()[-1]
        self.assertTrue(sentence.startswith("tandem: "), done.stderr)
        for part in says:
            self.assertIn(part, sentence)
        return done


def main():
    os.environ["PROGRAM_UNDER_TEST"] = os.path.abspath(sys.argv.pop(1))
    unittest.main()
