# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What is in use outside of PyTorch's allocator is told apart: this process's context, NCCL's communicators, other processes."""

import json
import pathlib
import tempfile
import unittest

import launched

PROGRAM = pathlib.Path(__file__).parent / "programs" / "outside.py"
MIB = 1 << 20
CONTEXT, COMMUNICATORS = "CUDA's context and libraries", "NCCL's communicators"


@launched.needed
class OutsideTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            done = launched.run(PROGRAM, pathlib.Path(folder, "store"))
        assert done.status == 0, done.errors[-2000:]
        told = [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]
        cls.told = {case["name"]: case for case in told}

    def own(self, name):
        return [gpu["own"] for gpu in self.told[name]["gpus"]]

    def test_communicators_of_data_parallel(self):
        self.assertEqual(self.own("several GPUs"), [{CONTEXT: (2 + gpu) * MIB, COMMUNICATORS: 5 * MIB} for gpu in range(4)])

    def test_communicators_of_a_process_for_each_gpu(self):
        self.assertEqual(self.own("a process for each GPU"), [{CONTEXT: (2 + 5) * MIB, COMMUNICATORS: 7 * MIB}])

    def test_communicators_that_were_made_before(self):
        self.assertEqual(self.own("made before"), [{CONTEXT: (2 + 5 + 7) * MIB}])

    def test_another_process(self):
        (name, nbytes), = self.told["several GPUs"]["gpus"][1]["others"].items()
        self.assertRegex(name, r" \(4711\)$")
        self.assertEqual(nbytes, 100 * MIB)

    def test_the_parts_add_up(self):
        for gpu in self.told["several GPUs"]["gpus"]:
            self.assertEqual(gpu["outside"], sum(gpu["own"].values()) + sum(gpu["others"].values()))

    def test_where_nvml_does_not_know_this_process(self):
        (gpu,) = self.told["in a container"]["gpus"]
        self.assertEqual((gpu["own"], gpu["others"], gpu["outside"]), ({}, {}, 14 * MIB))

    def test_text_and_page(self):
        told = self.told["several GPUs"]
        self.assertIn(f"({CONTEXT} 3.0 MiB, {COMMUNICATORS} 5.0 MiB, ", told["text"])
        self.assertRegex(told["page"], r"<td>NCCL&#x27;s communicators</td>(<td>5\.0 MiB</td>){4}")


if __name__ == "__main__":
    unittest.main()
