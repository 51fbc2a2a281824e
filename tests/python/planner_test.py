# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""How rows are divided, and what a measured model says of other batches and limits."""

import unittest

import models
import tandem
import torch

MIB = 1 << 20


class Wide(torch.nn.Sequential):
    """Its activations are what a device holds."""

    def __init__(self):
        super().__init__(torch.nn.Linear(6, 512), torch.nn.Tanh(), torch.nn.Linear(512, 3))


def batch_of(rows):
    generator = torch.Generator().manual_seed(rows)
    return torch.randn(rows, 6, generator=generator), torch.randint(3, (rows,), generator=generator)


class ChunksTest(unittest.TestCase):
    def setUp(self):
        tandem.configure_devices("cpu:4")

    def test_policies(self):
        self.assertEqual(tandem.chunk_sizes(9), [3, 2, 2, 2])
        self.assertEqual(tandem.chunk_sizes(9, "torch chunk"), [3, 3, 3, 0])
        self.assertEqual(tandem.chunk_sizes(100, gpu0_bsz=10), [10, 30, 30, 30])
        self.assertEqual(tandem.chunk_sizes(8, [1.0, 1.0, 2.0, 0.0]), [2, 2, 4, 0])
        self.assertEqual(tandem.chunk_sizes(6, [1, 2, 3, 0]), [1, 2, 3, 0])
        self.assertEqual(tandem.chunk_sizes(5, devices=["cpu:0", "cpu:1"]), [3, 2])

    def test_wrong_ones_are_refused(self):
        with self.assertRaisesRegex(tandem.InvalidArgument, "chunks is 'evn'; give one of 'even'"):
            tandem.chunk_sizes(9, "evn")
        with self.assertRaisesRegex(tandem.InvalidArgument, "not both"):
            tandem.chunk_sizes(9, "even", gpu0_bsz=3)


class StepModelTest(unittest.TestCase):
    def test_of_figures(self):
        # The first device has the batch's outputs too: 2 a row of the batch.
        needs = [tandem.DeviceNeed("cpu:0", 100, 10, 2, limit=400), tandem.DeviceNeed("cpu:1", 100, 10, limit=400)]
        model = tandem.StepModel(needs)
        even = model.predict([10, 10])
        self.assertEqual((even.rows, even.peak_bytes, even.imbalance), ([10, 10], [240, 200], 1.2))
        best = min(max(100 + 10 * a + 2 * 20, 100 + 10 * (20 - a)) for a in range(21))
        self.assertEqual(max(model.plan(20).peak_bytes), best)
        fits = [n for n in range(60) if any(100 + 10 * a + 2 * n <= 400 and 100 + 10 * (n - a) <= 400 for a in range(n + 1))]
        self.assertEqual(model.largest_batch(), fits[-1])
        self.assertEqual(tandem.chunk_sizes(20, model, devices=["cpu:0", "cpu:1"]), model.plan(20).rows)
        with self.assertRaisesRegex(tandem.InvalidArgument, str(fits[-1])):
            model.plan(fits[-1] + 1)
        self.assertIsNone(tandem.StepModel([tandem.DeviceNeed("cpu:0", 1, 1)]).largest_batch())
        with self.assertRaisesRegex(tandem.InvalidArgument, "goal is 'fast'; give one of 'least peak', 'least time'"):
            model.plan(20, "fast")

    def test_of_a_wrapper_predicts_its_peaks(self):
        tandem.configure_devices("cpu:3")
        torch.manual_seed(0)
        model = Wide()
        before = [x.detach().clone() for x in model.parameters()]
        wrapper = tandem.DataParallel(model, mode="sharded", chunks=[60, 100, 80])
        optimizer = tandem.Optimizer(model, torch.optim.Adam)
        needs = wrapper.step_model(batch_of(240), models.mean_loss, optimizer)
        for x, old in zip(model.parameters(), before):
            self.assertTrue(torch.equal(x, old))
        wrapper.step(batch_of(240), models.mean_loss, optimizer)
        for device in range(3):
            tandem.reset_peak(f"cpu:{device}")
        wrapper.step(batch_of(240), models.mean_loss, optimizer)
        predicted = needs.predict([60, 100, 80]).peak_bytes
        for device in range(3):
            self.assertAlmostEqual(tandem.memory_stats(f"cpu:{device}").peak / predicted[device], 1, delta=0.03)

    def test_the_largest_batch_fits_and_one_row_more_does_not(self):
        tandem.configure_devices("cpu:2@2MiB")
        model = Wide()
        wrapper = tandem.DataParallel(model, mode="sharded")
        optimizer = tandem.Optimizer(model, torch.optim.Adam)
        found = wrapper.find_largest_batch(batch_of, models.mean_loss, optimizer)
        self.assertTrue(found.is_largest)
        self.assertEqual(sum(found.chunk_sizes), found.rows)
        self.assertLessEqual(max(found.peak_bytes), 2 * MIB)
        wrapper.step(batch_of(found.rows), models.mean_loss, optimizer)
        with self.assertRaises(torch.OutOfMemoryError):
            wrapper.step(batch_of(found.rows + 1), models.mean_loss, optimizer)

    def test_an_error_of_make_comes_through(self):
        tandem.configure_devices("cpu:2@2MiB")
        wrapper = tandem.DataParallel(Wide())
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            wrapper.find_largest_batch(lambda rows: 1 / 0, models.mean_loss)

    def test_an_optimizer_that_is_not_measured_is_refused(self):
        model = Wide()
        wrapper = tandem.DataParallel(model, devices="cpu:2")
        with self.assertRaisesRegex(tandem.InvalidArgument, "give tandem.Optimizer\\(model, torch.optim.SGD"):
            wrapper.step_model(batch_of(8), models.mean_loss, torch.optim.SGD(model.parameters(), 0.1))


if __name__ == "__main__":
    unittest.main()
