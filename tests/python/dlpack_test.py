# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors go between tandem, PyTorch and NumPy by DLPack, without a copy. exchange_test.py looks at dtypes and views."""

import gc
import unittest

import numpy
import tandem
import torch


class DlpackTest(unittest.TestCase):
    def setUp(self):
        tandem.configure_devices("cpu:2")

    def test_memory_is_shared_both_ways(self):
        for theirs, take in ((numpy.arange(6.0).reshape(2, 3), numpy.from_dlpack), (torch.arange(6.0), torch.from_dlpack)):
            with self.subTest(type(theirs).__name__):
                here = tandem.from_dlpack(theirs, "cpu:1")
                self.assertEqual((here.shape, here.device), (list(theirs.shape), "cpu:1"))
                self.assertEqual(here.dtype, "f64" if theirs.dtype == numpy.float64 else "f32")
                there = take(here)
                theirs[...] = 7
                self.assertTrue((there == 7).all())

    def test_the_owner_goes_last(self):
        theirs = numpy.ones(1000)
        there = torch.from_dlpack(tandem.from_dlpack(theirs))
        del theirs
        gc.collect()
        self.assertEqual(there.sum().item(), 1000)

    def test_an_unused_capsule_gives_the_memory_back(self):
        class Watched(numpy.ndarray):
            gone = 0

            def __del__(self):
                Watched.gone += 1

        here = tandem.from_dlpack(numpy.ones(10).view(Watched))
        capsules = [here.__dlpack__(), here.__dlpack__(max_version=(1, 0)), here.__dlpack__(copy=True)]
        del here, capsules
        gc.collect()
        self.assertGreaterEqual(Watched.gone, 1)

    def test_copies_are_apart(self):
        theirs = torch.ones(3)
        here = tandem.from_dlpack(theirs)
        there = torch.utils.dlpack.from_dlpack(here.__dlpack__(copy=True))
        theirs[0] = 5
        self.assertEqual(there.tolist(), [1, 1, 1])

    def test_refusals(self):
        with self.assertRaisesRegex(tandem.InvalidArgument, "a list has no __dlpack__"):
            tandem.from_dlpack([1, 2])
        with self.assertRaisesRegex(tandem.InvalidArgument, "complex"):
            tandem.from_dlpack(torch.ones(2, dtype=torch.complex64))
        with self.assertRaisesRegex((BufferError, RuntimeError), "requires grad|require gradient"):  # PyTorch says it
            tandem.from_dlpack(torch.ones(2, requires_grad=True))
        here = tandem.from_dlpack(torch.ones(2))
        with self.assertRaisesRegex(BufferError, "on the host alone"):
            here.__dlpack__(dl_device=(2, 0))

        class Empty:
            def __dlpack__(self, **how):
                return None

        with self.assertRaisesRegex(tandem.InvalidArgument, "no capsule"):
            tandem.from_dlpack(Empty())


if __name__ == "__main__":
    unittest.main()
