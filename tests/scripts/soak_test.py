# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Tests the arguments of scripts/soak, and runs a little of each of its parts."""

import pathlib
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop()
ROOT = pathlib.Path(sys.argv.pop())


def run(*arguments):
    return subprocess.run([sys.executable, "-B", ROOT / "scripts" / "soak", *arguments], capture_output=True, text=True,
                          timeout=280, check=False)


class SoakTest(unittest.TestCase):
    def test_help_names_the_options(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        for option in ("--program", "--parts", "--steps", "--kills", "--seconds"):
            self.assertIn(option, done.stdout)

    def test_refuses_what_it_does_not_know(self):
        for arguments, text in ((["--parts", "steps,dance"], "unknown part dance"), (["--steps", "0"], "must be above 0"),
                                (["--program", "/nowhere"], "there is no /nowhere")):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(text, done.stderr)

    def test_each_part_ends_well(self):
        done = run("--program", PROGRAM, "--steps", "60", "--kills", "2", "--seconds", "40")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.split(":")[1].strip() for line in done.stdout.splitlines()], ["steps", "kills", "saves", "limits"])


if __name__ == "__main__":
    unittest.main()
