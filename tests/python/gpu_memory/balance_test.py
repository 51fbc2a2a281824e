# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What is predicted comes true: the cut that evens the GPUs out, and the peaks of a larger batch."""

import json
import pathlib
import unittest

import launched
from tandem.errors import InvalidArgument
from tandem.gpu_memory import BatchModel, fit
from tandem.gpu_memory.batch_model import Line

PROGRAMS = pathlib.Path(__file__).parent / "programs"
MIB = 1 << 20


@launched.needed
class BalanceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = launched.run(PROGRAMS / "balanced.py")
        assert done.status == 0, done.errors[-2000:]
        cls.told = json.loads(done.output)

    def check_near(self, values, expected, part):
        for value in values:
            self.assertLessEqual(abs(value - expected), part * expected, (value, expected))

    def test_the_cut_evens_the_peaks_out(self):
        first, *others = self.told["balanced"]
        self.assertGreater(self.told["even"][0], 1.4 * self.told["even"][1])
        self.assertLess(first, 1.1 * max(others))
        self.assertTrue(0 < self.told["gpu0_bsz"] < 128)
        self.assertEqual(self.told["rows"], 512)

    def test_its_peaks_are_predicted(self):
        first, *others = self.told["balanced"]
        self.check_near([first], self.told["predicted"][0], 0.03)
        self.check_near(others, self.told["predicted"][1], 0.03)

    def test_the_advice_names_the_cut(self):
        self.assertTrue(any(f"gpu0_bsz={self.told['gpu0_bsz']}" in sentence for sentence in self.told["advice"]))

    def test_a_larger_batch_is_predicted(self):
        for predicted, measured in zip(self.told["line"], self.told["later"], strict=True):
            self.check_near([measured], predicted, 0.05)  # another moment may become the peak


class BatchModelTest(unittest.TestCase):
    def test_the_first_gpu_that_is_full_bounds_the_batch(self):
        model = BatchModel([Line(0, 100, 10, 1000), Line(1, 50, 2, 1000)], {})
        self.assertEqual((model.largest_batch(), model.largest_batch({"cuda:1": 69})), (90, 9))
        self.assertEqual(model.predict(3), {"cuda:0": 130, "cuda:1": 56})

    def test_a_batch_that_costs_nothing(self):
        self.assertIsNone(BatchModel([Line(0, 100, 0, 1000)], {}).largest_batch())
        self.assertEqual(BatchModel([Line(0, 100, 0, 99)], {}).largest_batch(), 0)

    def test_bad_rows(self):
        for rows in ([], [8], [8, 8], [0, 8]):
            with self.subTest(rows), self.assertRaisesRegex(InvalidArgument, "expected two or more different numbers from 1 on"):
                fit(lambda n: None, rows)


if __name__ == "__main__":
    unittest.main()
