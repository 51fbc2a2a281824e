# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What is said where PyTorch has no GPU."""

import unittest

import stand_in


class WithoutGpuTest(unittest.TestCase):
    def test_it_says_what_is_missing(self):
        done = stand_in.run_alone("-m", "tandem", "run", "--memory", stand_in.PROGRAMS / "train.py")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^tandem: memory: PyTorch .*(without CUDA|finds no GPU).*register_devices")


if __name__ == "__main__":
    unittest.main()
