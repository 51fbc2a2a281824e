# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A program makes itself several processes: spawn_test.py PROGRAM."""

import os
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)
WORD = "a word, with 'quotes' and\ta tab"


def run(*arguments, **variables):
    done = subprocess.run([PROGRAM, *arguments], env=os.environ | variables, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, sorted(done.stdout.splitlines()), done.stderr


class SpawnTest(unittest.TestCase):
    def test_processes_have_the_arguments(self):
        status, lines, _ = run(WORD)
        self.assertEqual((status, lines), (0, [f"[{rank}] {rank} of 3: {WORD}" for rank in range(3)]))

    def test_a_failure_is_the_programs(self):
        status, _, errors = run(WORD, "fail")
        self.assertEqual(status, 7)
        self.assertRegex(errors, r"rank 1 \(pid \d+\) ended first: exit status 7")

    def test_one_process_is_the_program_itself(self):
        self.assertEqual(run(WORD, "lead"), (0, [f"0 of 1: {WORD}"], ""))

    def test_another_launcher_has_been_first(self):
        self.assertEqual(run(WORD, RANK="0", WORLD_SIZE="1"), (0, [f"0 of 1: {WORD}"], ""))


if __name__ == "__main__":
    unittest.main()
