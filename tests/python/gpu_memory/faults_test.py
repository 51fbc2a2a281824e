# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A measurement that cannot be made says why, and one that fails leaves nothing behind."""

import pathlib
import unittest

import launched

PROGRAMS = pathlib.Path(__file__).parent / "programs"


@launched.needed
class FaultsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = launched.run(PROGRAMS / "faults.py")
        assert done.status == 0, done.errors[-2000:]
        cls.lines = dict(line.split(" ", 1) for line in done.output.splitlines())

    def test_a_step_that_raises(self):
        self.assertEqual(self.lines["raised"], "'of the step' True")

    def test_nothing_is_left(self):
        self.assertEqual((self.lines["left"], self.lines["later"]), ("True 1", "True True"))

    def test_a_snapshot_for_memory_viz(self):
        self.assertEqual(self.lines["snapshot"], "True True")

    def test_two_at_once(self):
        self.assertIn("another measurement runs", self.lines["two"])

    def test_somebody_elses_history(self):
        self.assertRegex(self.lines["history"], r"_record_memory_history\(None\).* True$")  # it goes on

    def test_workspaces_of_cublas(self):
        self.assertEqual(self.lines["cublas"], str(4 << 20))

    def test_workspaces_of_cudnn(self):
        self.assertEqual(self.lines["cudnn"], f"backward ('cuDNN workspace', {4 << 20})")
        self.assertEqual(self.lines["own"], f"backward ('workspace of an op', {4 << 20})")

    def test_the_programs_peaks_stay(self):
        self.assertEqual(self.lines["counters"], "True")

    def test_the_programs_label_comes_back(self):
        self.need_labels()
        self.assertEqual((self.lines["label"], self.lines["restarted"]), ("mine", "mine"))

    def test_a_label_of_an_older_measurement_is_none(self):
        self.need_labels()
        self.assertEqual(self.lines["older"], "update")

    def need_labels(self):
        if self.lines["labels"] == "False":
            self.skipTest("an older PyTorch, which cannot label its history")

    def test_a_history_that_is_too_long(self):
        self.assertRegex(self.lines["long"], r"more than 20 entries of a GPU; record less at once.* True$")

    def test_an_old_pytorch(self):
        self.assertRegex(self.lines["old"], r"this is PyTorch 2\.7\.1, and it needs 2\.8 or later: pip install")


if __name__ == "__main__":
    unittest.main()
