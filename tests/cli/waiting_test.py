# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""How the program's threads wait for each other, according to libgomp's own display."""

import os
import re
import subprocess
import sys
import unittest

from program import ProgramTest, main

LIST = ["devices", "--devices", "cpu:1"]  # a command that ends at once


class WaitingTest(ProgramTest):
    def setUp(self):
        super().setUp()
        if "libgomp" not in subprocess.run(["ldd", os.environ["PROGRAM_UNDER_TEST"]], capture_output=True,
                                           text=True, check=True).stdout:
            self.skipTest("built without libgomp")
        for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
            os.environ.pop(name, None)

    def settings(self, *arguments, **extra):
        """OMP_WAIT_POLICY and GOMP_SPINCOUNT in each start of the program."""
        done = self.succeed(*arguments, OMP_DISPLAY_ENV="verbose", **extra)
        return list(zip(re.findall("OMP_WAIT_POLICY = '(.*)'", done.stderr),
                        re.findall("GOMP_SPINCOUNT = '(.*)'", done.stderr)))

    def test_starts_anew_with_a_bound_to_spinning(self):
        first, *more = self.settings(*LIST)
        self.assertEqual(first[1], "300000")
        self.assertEqual(len(more), 1)
        self.assertIn(more[0], [("PASSIVE", "20000"), ("PASSIVE", "0")])

    def test_does_not_spin_beside_busy_processes(self):
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                for _ in range(2 * os.cpu_count())]
        for process in busy:
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
        self.assertEqual(self.settings(*LIST)[1:], [("PASSIVE", "0")])

    def test_leaves_what_the_user_has_said(self):
        self.assertEqual(len(self.settings(*LIST, OMP_WAIT_POLICY="active")), 1)
        self.assertEqual([s for _, s in self.settings(*LIST, GOMP_SPINCOUNT="77")], ["77"])

    def test_help_and_errors_do_not_start_anew(self):
        self.assertEqual(len(self.settings("train", "--help")), 1)
        done = self.run_program("train", "--what", OMP_DISPLAY_ENV="verbose")
        self.assertEqual(done.stderr.count("OMP_WAIT_POLICY"), 1)


if __name__ == "__main__":
    main()
