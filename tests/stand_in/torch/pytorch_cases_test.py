# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own tests of DataParallel, for CUDA as they stand, with PyTorch's own wrapper."""

import sys
import unittest

import cases_of_pytorch
import torch

# Of 46; this one expects an error that PyTorch words otherwise since.
KNOWN_FAILURES = {"test_data_parallel_lazy_linear"}


class PytorchCasesTest(unittest.TestCase):
    def test_data_parallel(self):
        text = cases_of_pytorch.source()
        if text is None:
            self.skipTest(f"there is no {cases_of_pytorch.CACHE}; scripts/torch-acceptance fetches PyTorch's tests")
        cases = cases_of_pytorch.run(text)
        print(f"{len(cases.passed)} of {len(cases.passed) + len(cases.failed)} cases pass, {len(cases.skipped)} are skipped", file=sys.stderr)
        self.assertEqual(set(cases.failed) - KNOWN_FAILURES, set(), cases.failed)
        self.assertGreaterEqual(len(cases.passed), 45)
        self.assertEqual(torch.cuda.device_count(), 4)


if __name__ == "__main__":
    unittest.main()
