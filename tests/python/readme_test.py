# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The program of PyTorch at the top of README.md: it trains, and computes what one device does."""

import contextlib
import io
import pathlib
import re
import unittest

import torch

README = pathlib.Path(__file__).parents[2] / "README.md"


def losses(program):
    printed = io.StringIO()
    torch.manual_seed(0)
    with contextlib.redirect_stdout(printed):
        exec(compile(program, str(README), "exec"), {})  # noqa: S102
    return [float(text) for text in re.findall(r"loss (\S+)", printed.getvalue())]


class ReadmeTest(unittest.TestCase):
    def test_the_first_program(self):
        program = re.search(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[1]
        alone, wrapped = re.subn(r"^model = tandem\.DataParallel.*\n", "", program, flags=re.MULTILINE)
        self.assertEqual(wrapped, 1)
        found = losses(program)
        self.assertEqual(len(found), 5)
        self.assertLess(found[-1], found[0])
        for one, other in zip(found, losses(alone)):
            self.assertAlmostEqual(one, other, delta=1e-3)


if __name__ == "__main__":
    unittest.main()
