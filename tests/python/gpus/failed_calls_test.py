# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Each call of CUDA fails once in a step: the step has no effect and the next one works, or the wrapper says that it is lost."""

import unittest

from failed_steps import FailedStepsTest

MODES = ["server", "classic", "sharded", "ddp"]


class FailedCallsTest(FailedStepsTest):
    def check(self, mode, chosen):
        """chosen(n): which of n calls of a name fail, from 1."""

        def failures_of(counts):
            return [f"{name}:{i}" for name, n in sorted(counts.items()) for i in chosen(n)]

        ends = self.ends_of(mode, failures_of)
        self.assertGreater(sum(ends.values()), ends["taken"] + ends["lost"], mode)  # the others are errors without an effect

    def test_a_sample(self):
        for mode in ("server", "sharded"):
            self.check(mode, lambda n: sorted({1, n // 3 + 1, 2 * n // 3 + 1, n}))

    def test_each(self):
        for mode in MODES:
            self.check(mode, lambda n: range(1, n + 1))


if __name__ == "__main__":
    unittest.main()
