# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Programs as people publish them print the same on one device, on virtual devices and on GPUs, where their DataParallel is tandem's."""

import functools
import importlib.util
import pathlib
import re
import unittest

import launched

FOLDER = pathlib.Path(__file__).parent / "programs"
NUMBER = re.compile(r"-?\d+\.\d+")
PACKAGES = {"accelerated": "accelerate", "fabric": "lightning_fabric", "trainer_bert": "transformers", "trainer_gpt2": "transformers"}
TOLERANCE = 2e-4  # of what is printed, in f32 after a few steps


class ProgramsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plain = launched.Forks(())
        cls.addClassCleanup(cls.plain.close)
        cls.alone = staticmethod(functools.cache(cls.plain.run))  # which would take the test as its first argument

    def check(self, run):
        """run(program) is to print what the program prints alone."""
        for program in sorted(FOLDER.glob("*.py")):
            with self.subTest(program.stem):
                if program.stem in PACKAGES and importlib.util.find_spec(PACKAGES[program.stem]) is None:
                    self.skipTest(f"{PACKAGES[program.stem]} is not there; scripts/setup --programs")
                alone, done = self.alone(program), run(program)
                self.assertEqual(alone.status, 0, alone.errors[-2000:])
                self.assertEqual(done.status, 0, done.errors[-2000:])
                self.assertRegex(done.errors, rf"{program.name}: tandem\.DataParallel of \w+ on \w+:0, \w+:1, \w+:2, \w+:3")
                self.assertEqual(NUMBER.sub("#", done.output), NUMBER.sub("#", alone.output))
                self.assertGreater(len(NUMBER.findall(alone.output)), 2)
                for found, wanted in zip(NUMBER.findall(done.output), NUMBER.findall(alone.output), strict=True):
                    self.assertLessEqual(abs(float(found) - float(wanted)), TOLERANCE * max(1, abs(float(wanted))), (done.output, alone.output))

    def test_on_virtual_devices(self):
        self.check(lambda program: self.plain.run("-m", "tandem", "run", "--devices", "cpu:4", "--replace=", program))

    @launched.needed
    def test_on_gpus(self):
        forks = launched.Forks((launched.LAUNCHER, "--strict"))  # a missing wait ends a program with a status
        self.addCleanup(forks.close)
        self.check(lambda program: forks.run("-m", "tandem", "run", "--replace=", program))

    def test_there_are_twelve(self):
        self.assertGreaterEqual(len(list(FOLDER.glob("*.py"))), 12)


if __name__ == "__main__":
    unittest.main()
