# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Each allocation is refused once in a step: the step has no effect, and the next one works."""

import re
import unittest

import torch
from failed_steps import FailedStepsTest


class RefusedAllocationsTest(FailedStepsTest):
    def check_error(self, error, failure):
        """It says once what is full, and means one GPU."""
        text = str(error)
        for said in ("out of memory on ", "se a smaller batch"):
            self.assertLessEqual(text.count(said), 1, f"{failure}: {text}")
        named = set(re.findall(r"(?:cuda:|GPU |device )(\d)", text.partition("\n")[0]))
        self.assertEqual(len(named), 1, f"{failure}: {text}")

    def check_each(self, mode, warm_steps, **options):
        def failures_of(counts):
            return [f"cudaMallocAsync:{i}+" for i in range(1, counts["cudaMallocAsync"] + 1)]

        ends = self.ends_of(mode, failures_of, warm_steps, **options)
        self.assertLessEqual(set(ends), {"OutOfMemoryError", "OutOfMemory"}, mode)  # the latter outside of a replica

    def test_of_a_step(self):
        for mode in ("server", "sharded"):
            self.check_each(mode, warm_steps=1)

    def test_of_the_first_step(self):
        for mode in ("server", "sharded"):
            self.check_each(mode, warm_steps=0)

    def test_of_an_update_by_several_ops(self):
        self.check_each("sharded", warm_steps=1, kind=torch.optim.RMSprop)

    def test_of_each_update_by_several_ops(self):
        for kind in (torch.optim.Adagrad, torch.optim.Adadelta, torch.optim.NAdam, torch.optim.RAdam):
            for mode in ("server", "ddp"):
                self.check_each(mode, warm_steps=1, kind=kind)


if __name__ == "__main__":
    unittest.main()
