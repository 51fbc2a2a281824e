# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The command line: its help, its errors, and the names under which it is found."""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import launched

PROGRAMS = pathlib.Path(__file__).parent / "programs"


def tandem(*arguments):
    return launched.run_alone("-m", "tandem", *arguments)


class CommandTest(unittest.TestCase):
    def test_one_help_tells_of_programs_and_of_tandems_own_models(self):
        done = tandem("memory", "--help")
        self.assertEqual(done.status, 0, done.errors)
        for part in ("PROGRAM.py | -m MODULE", "SNAPSHOT.pickle", "--then {end,continue}", "--devices cuda:4 train.py"):
            self.assertIn(part, done.output)
        if "A model of tandem's own" in done.output:  # the program is built
            self.assertLess(done.output.index("PROGRAM.py"), done.output.index("Mode and sharding:"))

    def test_a_call_without_a_program(self):
        done = tandem("run", "--memory")
        self.assertEqual(done.status, 2)
        self.assertIn("there is no program: name one, such as train.py", done.errors)

    def test_a_launcher_in_place_of_a_program(self):
        done = tandem("memory", "-m", "torch.distributed.run", "--nproc-per-node", "2", "train.py")
        self.assertEqual(done.status, 1)
        self.assertIn("write torchrun ... -m tandem memory PROGRAM.py", done.errors)

    def test_a_module_that_is_not_there(self):
        for command in ("run", "memory"):
            done = tandem(command, "-m", "nowhere.train", "--lr", "1")
            self.assertEqual((done.status, done.errors), (1, f"tandem: {command}: there is no module nowhere.train\n"))

    def test_a_module_of_the_folder_where_an_installed_command_is_called(self):
        with tempfile.TemporaryDirectory() as folder:
            (command := pathlib.Path(folder, "bin", "tandem")).parent.mkdir()
            command.write_text("from tandem.__main__ import main\nmain()\n")
            pathlib.Path(folder, "my_train.py").write_text("")
            done = subprocess.run([sys.executable, "-B", command, "memory", "-m", "my_train"], cwd=folder, capture_output=True, text=True, check=False)
        self.assertNotIn("there is no module", done.stderr)

    def test_devices_that_are_none(self):
        for devices in ("gpu:4", "cuda:0", "cuda:x", "cuda"):
            done = tandem("memory", "--devices", devices, "train.py")
            self.assertEqual(done.status, 1)
            self.assertIn(f"tandem: memory: --devices {devices}: expected cuda:N or cpu:N, such as cuda:4", done.errors)

    @unittest.skipUnless(importlib.util.find_spec("tandem._core"), "a package without extension modules has no virtual devices")
    def test_on_virtual_devices(self):
        with tempfile.TemporaryDirectory() as folder:
            numbers, page = pathlib.Path(folder, "a.json"), pathlib.Path(folder, "a.html")
            done = tandem("memory", "--devices", "cpu:3", "--then", "continue", "--json", numbers, "--report", page, PROGRAMS / "train.py", "4", "500")
            self.assertEqual(done.status, 0, done.errors)
            told = json.loads(numbers.read_text())
            self.assertIn("<svg", page.read_text())
        self.assertEqual(done.output.count("step"), 4)
        self.assertRegex(done.errors, "train.py: step 3\n\ncpu:0 ")
        self.assertNotIn(" 0 rows", done.errors)
        self.assertIn("with --devices cuda:3 the causes are found for the program as it is", done.errors)
        first, *others = (device["peak_bytes"] for device in told["devices"])
        self.assertEqual(len(others), 2)
        self.assertGreater(first, 2 * max(others))
        self.assertGreater(min(others), 0)

    def test_no_snapshot_of_virtual_devices(self):
        done = tandem("memory", "--devices", "cpu:2", "--snapshot", "a.pickle", PROGRAMS / "train.py")
        self.assertEqual(done.status, 1)
        self.assertIn("tandem: memory: --snapshot is of PyTorch's own allocator", done.errors)

    @launched.needed
    def test_on_the_stand_in(self):
        done = tandem("memory", "--devices", "cuda:2", "--step", "1", PROGRAMS / "train.py", "2", "100")
        self.assertIn("train.py: step 1", done.errors)
        self.assertIn("cuda:1", done.errors)
        self.assertNotIn("cuda:2", done.errors)

    @launched.needed
    def test_the_stand_in_as_a_command(self):
        done = tandem("stand_in", "--gpus", "3", "-c", "import torch; print(torch.cuda.device_count())")
        self.assertEqual((done.status, done.output), (0, "3\n"), done.errors)


if __name__ == "__main__":
    unittest.main()
