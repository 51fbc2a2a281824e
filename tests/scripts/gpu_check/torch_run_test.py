#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-check torch over the stand-in for PyTorch's CUDA, in small sizes.

usage: torch_run_test.py FOLDER-OF-SCRIPTS FOLDER-OF-THE-STAND-IN
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS, STAND_IN = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))


class Run(unittest.TestCase):
    def test_what_ended_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-B", STAND_IN, "--strict", "--gpus", "1", SCRIPTS / "gpu-check", "torch", "--small", "--out", folder],
                                  capture_output=True, text=True, timeout=560, check=False)
            steps = json.loads(pathlib.Path(folder, "results.json").read_text())["steps"]
            report = pathlib.Path(folder, "report.md").read_text()
        said = done.stdout + done.stderr
        self.assertEqual(steps["adapter"]["status"], "passed", said)
        self.assertIn("takes a step on cuda:0x4", report)
        self.assertEqual(done.returncode, 0, said)
        ended = {name: step["status"] for name, step in steps.items()}
        ended.pop("cases")  # not run where PyTorch's source is not
        self.assertEqual(set(ended.values()), {"passed"}, said)
        self.assertIn("step of gpt: plain", report)
        self.assertRegex(report, r"nn.DataParallel: peak ([\d.]+) MiB told, \1 by PyTorch")

    def test_a_weight_that_is_no_number_is_a_difference(self):
        program = (
            "import sys, torch, exactness\n"
            "exactness.trained = lambda step_of, rows: [torch.ones(1), torch.tensor([1.0 if step_of is exactness.plain else float('nan')])]\n"
            "sys.exit(exactness.main())\n"
        )
        programs = SCRIPTS / "gpu_check" / "torch_training" / "programs"
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(programs), os.environ["PYTHONPATH"]])}
        done = subprocess.run([sys.executable, "-B", "-c", program], env=environment, capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual((done.returncode, done.stdout.count("nan from one device at most")), (1, 4), done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
