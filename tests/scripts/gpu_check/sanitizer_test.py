#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Shows that the tests which scripts/gpu-check names for compute-sanitizer exist.

usage: sanitizer_test.py FOLDER-OF-SCRIPTS
"""

import fnmatch
import pathlib
import re
import sys
import unittest

SCRIPTS = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SCRIPTS))

from gpu_check.parts import sanitizer  # noqa: E402

TESTS = SCRIPTS.parent / "tests"


def names(folder):
    """The tests of a folder as its sources have them, without the parameters that stand before and behind a name."""
    text = "\n".join(file.read_text() for file in (TESTS / folder).glob("*_test.cpp"))
    return [".".join(pair) for pair in re.findall(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", text, re.MULTILINE)]


class Patterns(unittest.TestCase):
    def test_each_has_a_test(self):
        for chosen in (sanitizer.REDUCTIONS, sanitizer.QUICK, sanitizer.QUICK_REDUCTIONS):
            for folder, patterns in chosen.items():
                for pattern in patterns:
                    self.assertTrue(fnmatch.filter(names(folder), pattern), f"{folder}: {pattern}")

    def test_each_that_is_left_out_has_one_too(self):
        known = [name for folder in sanitizer.MEMCHECKED for name in names(folder)]
        for pattern in sanitizer.TIMED:
            self.assertTrue(fnmatch.filter(known, pattern), pattern)


if __name__ == "__main__":
    unittest.main()
