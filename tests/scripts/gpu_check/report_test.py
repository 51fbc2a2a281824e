#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Shows what the report of scripts/gpu-check has.

usage: report_test.py FOLDER-OF-SCRIPTS
"""

import json
import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))

from step_test_case import StepTestCase, shell  # noqa: E402

from gpu_check import report  # noqa: E402
from gpu_check.figures import read_json  # noqa: E402


WHAT = {"machine": {}, "topology": "", "notes": [], "missing": [], "stand_in": False, "quick": False, "left": [], "because": "",
        "ran_on_gpu": True}


class Report(StepTestCase):
    def test_both_files(self):
        figures = {"tandem_ms": {"median": 2, "min": 1, "max": 3}, "peer_ms": {"median": 4, "min": 4, "max": 4},
                   "ratio": 0.5, "peak_mib": {"tandem": 10.0, "peer": None}}
        todo = [shell("bench/mlp/eager", f"echo '{json.dumps(figures)}'", part="bench", read=read_json),
                shell("bench/ops", "true", part="bench", skip="there is no GPU")]
        self.run_all(todo)
        path = report.write(self.state, **{**WHAT, "machine": {"commit": "c0ffee", "gpu": "none"}, "left": ["tests/x"]})
        text = path.read_text()
        self.assertIn("| bench/mlp/eager | 2.000 (1.000-3.000) | 4.000 (4.000-4.000) | 0.5 | 10.0 | - |", text)
        self.assertIn("| bench/ops | not run: there is no GPU |", text)
        self.assertIn("c0ffee", text)
        self.assertIn("Not run yet: tests/x.", text)
        self.assertEqual(json.loads((self.folder / "results.json").read_text())["steps"]["bench/mlp/eager"]["figures"],
                         figures)

    def test_ops_stand_beside_pytorchs(self):
        name = "BM_LinearF32/m:2/n:3/k:4"
        ours = {name + "/path:0/threads:1": {"real_time": 5, "time_unit": "us", "FLOP/s": 3e12},
                "BM_Other/n:1": {"real_time": 1, "time_unit": "us", "bytes_per_second": 2e9}}
        theirs = {"ops": {name: {"real_time": 4, "time_unit": "us", "FLOP/s": 4e12}}}
        ops = [{"name": f"op{i}", "calls": 1, "ms": 9 - i, "share": 0.2, "of_roof": 0.5} for i in range(7)]
        profile = {"step_ms": {"p50": 1, "p90": 2}, "ops": ops}
        todo = [shell("bench/ops", f"echo '{json.dumps(ours)}'", part="bench", read=read_json),
                shell("bench/ops-pytorch", f"echo '{json.dumps(theirs)}'", part="bench",
                      read=lambda log: read_json(log)["ops"]),
                shell("bench/mlp/profile", f"echo '{json.dumps(profile)}'", part="bench", read=read_json)]
        self.run_all(todo)
        text = report.write(self.state, **WHAT).read_text()
        self.assertIn(f"| {name}/path:0/threads:1 | 5 us | 3.00 TFLOP/s | 4.00 TFLOP/s | 75% |", text)
        self.assertIn("| BM_Other/n:1 | 1 us | 2 GB/s | - | - |", text)
        self.assertIn("| bench/mlp/profile | op0 | 9.000 | 20% | 50% |", text)
        self.assertIn("| bench/mlp/profile | op4 |", text)
        self.assertNotIn("op5", text)


class InShort(unittest.TestCase):
    def text(self, steps=None, **what):
        return report.in_short({**WHAT, "steps": steps or {}, **what})

    def test_what_the_first_lines_say(self):
        failed = {"tests/a": {"status": "failed"}, "tests/b": {"status": "passed"}}
        self.assertEqual(self.text(), "Nothing has failed.\n\n")
        self.assertEqual(self.text(failed), "Failed: tests/a.\n\n")
        self.assertIn("3 steps are left.", self.text(left=["a", "b", "c"]))
        self.assertIn("Nothing followed, because device has failed.", self.text(left=["a"], because="device"))
        self.assertIn("Nothing ran on a GPU.", self.text(ran_on_gpu=False))
        self.assertIn("is missing:\n\n- cmake 3.25\n- g++ 12\n", self.text(missing=["cmake 3.25", "g++ 12"]))


if __name__ == "__main__":
    unittest.main()
