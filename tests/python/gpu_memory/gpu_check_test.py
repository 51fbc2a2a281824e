# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-check torch-memory, over the stand-in: stages that end in their time leave what they told."""

import json
import pathlib
import tempfile
import unittest

import launched

GPU_CHECK = pathlib.Path(__file__).parents[3] / "scripts" / "gpu-check"


@launched.needed
class GpuCheckTest(unittest.TestCase):
    def test_stages_that_ended_are_written_though_the_time_is_over(self):
        with tempfile.TemporaryDirectory() as folder:
            done = launched.run(GPU_CHECK, "torch-memory", "--out", folder, "--seconds", "20", deadline=90)
            results = json.loads(pathlib.Path(folder, "results.json").read_text())
            report = pathlib.Path(folder, "report.md").read_text()
        self.assertEqual(done.status, 1, done.errors)  # not all have run
        first, second = results[:2]
        self.assertTrue(first["passed"], first["errors"])
        self.assertEqual(first["told"][0]["allocated"], 512)
        self.assertTrue(second["passed"], second["errors"])
        told = second["told"][0]
        self.assertEqual(told["peak_bytes"], told["figures"]["peak_allocated"])
        self.assertLessEqual(told["unnamed"], 0.03)
        self.assertIn("| context |", report)


if __name__ == "__main__":
    unittest.main()
