# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own tests of DataParallel, for CUDA as they stand, with tandem's wrapper and functions in place of PyTorch's."""

import importlib
import sys
import unittest

import torch

import tandem
import tandem.parallel

cases = importlib.import_module("cases_of_pytorch")


class PytorchCasesTest(unittest.TestCase):
    def test_data_parallel(self):
        text = cases.source()
        if text is None:
            self.skipTest(f"there is no {cases.CACHE}; scripts/torch-acceptance fetches PyTorch's tests")
        torch.nn.DataParallel = tandem.DataParallel
        for name in tandem.parallel.__all__:
            if name != "parallel_apply":  # which tandem's calls
                setattr(torch.nn.parallel, name, getattr(tandem.parallel, name))
        found = cases.run(text, stays_complex=True)
        print(f"{len(found.passed)} of {len(found.passed) + len(found.failed)} cases pass", file=sys.stderr)
        self.assertEqual(found.failed, {})
        self.assertGreaterEqual(len(found.passed), 46)


if __name__ == "__main__":
    unittest.main()
