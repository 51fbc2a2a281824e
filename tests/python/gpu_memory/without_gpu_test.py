# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What is said where PyTorch has no GPU."""

import pathlib
import unittest
from unittest import mock

import launched
import torch
from tandem.errors import DeviceError, InvalidArgument
from tandem.gpu_memory import history

PROGRAMS = pathlib.Path(__file__).parent / "programs"


class WithoutGpuTest(unittest.TestCase):
    @unittest.skipIf(torch.cuda.is_available(), "there is a GPU")
    def test_it_says_what_is_missing_and_nothing_else(self):
        done = launched.run_alone("-m", "tandem", "run", "--memory", PROGRAMS / "train.py")
        self.assertEqual(done.status, 1)
        self.assertRegex(done.errors, r"\Atandem: memory: (PyTorch .* was built without CUDA|this machine has no GPU).*\n\Z")
        self.assertRegex(done.errors, "let a stand-in play|install one with it")

    def test_what_to_try_without_a_gpu(self):
        for driver in (False, True):
            with (self.subTest(driver=driver), mock.patch.object(torch.version, "cuda", "13.0"), mock.patch.object(history, "has_driver", lambda: driver),
                  mock.patch.object(torch.cuda, "is_available", lambda: False),
                  self.assertRaisesRegex(DeviceError, r"python -m tandem memory --devices cuda:4 PROGRAM\.py")):
                history.check()

    def test_a_pytorch_without_cuda(self):
        with mock.patch.object(torch.version, "cuda", None), self.assertRaisesRegex(DeviceError, "was built without CUDA: install one with it"):
            history.check()

    def test_an_allocator_without_a_history(self):
        with (mock.patch.object(torch.version, "cuda", "13.0"), mock.patch.object(history, "has_driver", lambda: True),
              mock.patch.object(torch.cuda, "is_available", lambda: True),
              mock.patch.object(torch.cuda.memory, "get_allocator_backend", lambda: "cudaMallocAsync"),
              self.assertRaisesRegex(InvalidArgument, "the allocator is cudaMallocAsync, which keeps no history")):
            history.check()


if __name__ == "__main__":
    unittest.main()
