# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own tests of DataParallel, for CUDA as they stand, and what each comes to on the stand-in.

Their source is no part of tandem: scripts/torch-acceptance fetches it, and where it is not, nothing is run.
"""

import os
import pathlib
import re
import sys
import types
import unittest

import expecttest_module
import torch
from control import reports

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "tandem/pytorch-source")
FILE = "test/distributed/test_data_parallel.py"
# What has gone from PyTorch's test library since.
CHANGES = [(r"from \S+ import sandcastle_skip_if", "from unittest import skipIf as sandcastle_skip_if")]
# From 2.11 on outputs stay complex, with tandem's wrapper ever (pull request 170185).
STAYS_COMPLEX = [(r"torch\.Size\(\[1, 10, 2\]\)", "torch.Size([1, 10])"), (r"torch\.view_as_real\(input\)", "input")]
PYTORCHS_STAYS_COMPLEX = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 11)


def source():
    found = sorted(CACHE.glob(f"pytorch-*/{FILE}"))
    return found[-1].read_text(encoding="utf-8") if found else None


def load(text, stays_complex):
    """The cases as a module."""
    expecttest_module.provide()
    for pattern, replacement in CHANGES + (STAYS_COMPLEX if stays_complex else []):
        text = re.sub(pattern, replacement, text)
    module = types.ModuleType("pytorch_cases")
    sys.modules[module.__name__] = module
    exec(compile(text, f"{module.__name__}.py", "exec"), module.__dict__)
    return module


class Cases(unittest.TestResult):
    """What each came to, with what the stand-in reports of it."""

    def __init__(self):
        super().__init__()
        self.passed, self.failed = [], {}

    def startTest(self, test):
        super().startTest(test)
        reports()

    def addSuccess(self, test):
        super().addSuccess(test)
        found = reports()
        if found:
            self.failed[test.id().rsplit(".", 1)[1]] = found[0]
        else:
            self.passed.append(test.id())

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.failed[test.id().rsplit(".", 1)[1]] = str(error[1])

    addError = addFailure


def run(text, stays_complex=PYTORCHS_STAYS_COMPLEX):
    """What the cases of this source come to, where a complex output is one, or is of pairs."""
    sys.argv = sys.argv[:1]
    cases = Cases()
    unittest.defaultTestLoader.loadTestsFromModule(load(text, stays_complex)).run(cases)
    return cases
