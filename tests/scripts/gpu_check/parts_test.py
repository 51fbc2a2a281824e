#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Shows that the steps of scripts/gpu-check fit in a call, and that the tests which they name exist.

usage: parts_test.py FOLDER-OF-SCRIPTS
"""

import fnmatch
import pathlib
import re
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SCRIPTS))

from gpu_check import command_line  # noqa: E402
from gpu_check.brief import stages  # noqa: E402
from gpu_check.parts import PARTS, sanitizer, steps_of, tests  # noqa: E402
from gpu_check.plan import Plan  # noqa: E402

TESTS = SCRIPTS.parent / "tests"


def names(program):
    """The tests of a program's folder as its sources have them, without the parameters that stand before and behind a name."""
    text = "\n".join(file.read_text() for file in (TESTS / program.split("_")[0]).rglob("*_test.cpp"))
    return [".".join(pair) for pair in re.findall(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", text, re.MULTILINE)]


class Steps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tandem-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def steps(self, quick):
        gpu = {"compute_capability": "9.0", "pci": "0000:00:00.0"}
        plan = Plan(self.folder, self.folder, ["90"], "Ninja", "g++", stand_in=False, rounds=5, quick=quick, gpus=[gpu] * 4)
        return [step for part in PARTS for step in steps_of(part, plan)]

    def test_each_has_its_own_name(self):
        for quick in (False, True):
            names_ = [step.name for step in self.steps(quick)]
            self.assertEqual(len(names_), len(set(names_)))

    def test_each_ends_within_one_call_or_resumes(self):
        for quick, budget in ((False, command_line.BUDGET), (True, command_line.QUICK_BUDGET)):
            for step in self.steps(quick):
                self.assertTrue(step.resumes or step.timeout < budget, step.name)

    def test_a_step_of_both_checks_has_one_command(self):
        whole = {step.name: step.command for step in self.steps(False)}
        for step in self.steps(True):
            self.assertEqual(step.command, whole.get(step.name, step.command), step.name)


class Patterns(unittest.TestCase):
    def test_each_has_a_test(self):
        for chosen in (sanitizer.REDUCTIONS, sanitizer.QUICK, sanitizer.QUICK_REDUCTIONS, {"comm": tests.QUICK_NCCL},
                       {"ops": stages.NEW_KERNELS, "comm": stages.NOT_PACKED}):
            for folder, patterns in chosen.items():
                for pattern in patterns:
                    self.assertTrue(fnmatch.filter(names(folder), pattern), f"{folder}: {pattern}")

    def test_each_that_is_left_out_has_one_too(self):
        known = [name for folder in sanitizer.MEMCHECKED for name in names(folder)]
        for pattern in sanitizer.TIMED:
            self.assertTrue(fnmatch.filter(known, pattern), pattern)


if __name__ == "__main__":
    unittest.main()
