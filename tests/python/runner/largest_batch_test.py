# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem run --largest-batch: what it tells fits, and much more does not."""

import json
import pathlib
import re
import tempfile
import unittest

import launched

PROGRAM = """\
import argparse
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int)
parser.add_argument("--steps", type=int, default=3)
options = parser.parse_args()
torch.manual_seed(0)
model = nn.DataParallel(nn.Sequential(nn.Linear(16, 1024), nn.ReLU(), nn.Linear(1024, 16)).cuda())
optimizer = torch.optim.Adam(model.parameters())
for step in range(options.steps):
    loss = model(torch.randn(options.batch, 16, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained")
"""
LARGEST = ("-m", "tandem", "run", "--largest-batch")


def on_two_gpus(*arguments):
    return launched.run(*arguments, options=("--gpus", 2, "--memory", "256MiB"))


@launched.needed
class LargestBatchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.program = cls.folder / "train.py"
        cls.program.write_text(PROGRAM)

    def test_what_it_tells_fits_and_a_tenth_more_does_not(self):
        numbers = self.folder / "numbers.json"
        done = on_two_gpus(*LARGEST, "1000,2000", "--json", numbers, self.program, "--batch", "{rows}")
        self.assertEqual((done.status, done.output), (0, ""), done.errors)
        most = int(re.search(r"train\.py: about (\d+) rows fit", done.errors)[1])
        self.assertRegex(done.errors, r"1000 rows +2000 rows +a row more +of\n *cuda:0 .* 256\.0 MiB\n *cuda:1 ")
        told = json.loads(numbers.read_text())
        self.assertEqual((told["largest_batch"], told["measured_rows"]), (most, [1000, 2000]))
        self.assertEqual([device["name"] for device in told["devices"]], ["cuda:0", "cuda:1"])
        fits = on_two_gpus(self.program, "--batch", most * 3 // 4)
        self.assertEqual((fits.status, fits.output), (0, "trained\n"), fits.errors)
        more = on_two_gpus(self.program, "--batch", most * 11 // 10)
        self.assertIn("OutOfMemoryError", more.errors)

    def test_what_does_not_run(self):
        for arguments, said in (
            (("1000,2000", self.program, "--batch", 8), "none has it; write "),
            (("1000,90000", self.program, "--batch", "{rows}"), "made no step 3 with 90000 rows, and ended with status 1"),
            (("8,16", self.program, "--steps", 2, "--batch", "{rows}"), "made no step 3 with 8 rows, and ended with status 0"),
            (("8", self.program, "--batch", "{rows}"), "8 is not two or more different numbers of rows, such as 32,64"),
            (("8,16", "--replace=", self.program, "--batch", "{rows}"), "leave out --replace"),
        ):
            with self.subTest(said):
                done = on_two_gpus(*LARGEST, *arguments)
                self.assertNotEqual(done.status, 0)
                self.assertIn(said, done.errors)
                self.assertNotIn("Traceback", done.errors.split("It said at last", 1)[0])


if __name__ == "__main__":
    unittest.main()
