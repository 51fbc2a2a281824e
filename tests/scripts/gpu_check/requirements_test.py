#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Shows what scripts/gpu-check says on a machine that lacks something: all at once, with the versions that it found.

usage: requirements_test.py FOLDER-OF-SCRIPTS
"""

import pathlib
import sys
import unittest

SCRIPTS = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SCRIPTS))

from fake_machine import FakeMachine  # noqa: E402

from gpu_check import requirements  # noqa: E402

FakeMachine.scripts = SCRIPTS


class Missing(FakeMachine):
    def missing(self, *arguments):
        """The lines of what is missing; gpu-check ends with 1, and its report says the same."""
        said = self.run_check(*arguments, wanted=1)
        lines = [line.removeprefix("gpu-check:   ") for line in said.splitlines() if line.startswith("gpu-check:   ")]
        for line in lines:
            self.assertIn(f"- {line}\n", self.report())
        return lines

    def only(self, *arguments):
        lines = self.missing(*arguments)
        self.assertEqual(len(lines), 1, lines)
        return lines[0]

    def test_all_is_said_at_once(self):
        self.settings["cmake"] = "3.22.1"
        self.environment["FAKE_GPUS"] = ""
        self.remove("ninja", "g++", "nvcc")
        lines = self.missing()
        self.assertEqual([line.split(" (")[0] for line in lines[:4]],
                         ["cmake 3.25 or later", "ninja or make", "g++ 12 or later", "nvcc 12.8 or later"])
        self.assertIn("found 3.22.1", lines[0])
        self.assertIn("not found", lines[2])
        self.assertTrue(lines[4].startswith("a GPU: "), lines)

    def test_a_driver_that_is_older_than_the_toolkit(self):
        self.environment["FAKE_CUDA"] = "12040"
        self.assertEqual(self.only(), "a newer driver of the GPU: it is for CUDA 12.4, and nvcc is of CUDA 13.0; "
                                      "install driver 580 or later, or a toolkit 12.x, at least 12.8")

    def test_a_driver_of_the_same_major_version_is_enough(self):
        self.settings["nvcc"] = "12.9"
        self.environment["FAKE_CUDA"] = "12040"
        self.run_check("--quick", "--part", "build")

    def test_a_toolkit_that_is_too_old(self):
        self.settings["nvcc"] = "12.4"
        self.assertIn("nvcc 12.8 or later (found 12.4;", self.only())

    def test_no_driver(self):
        (self.library / "libcuda.so.1").write_text("")  # none that the machine may have is found behind it
        line = self.only()
        self.assertIn("a GPU: the driver's library cannot be loaded: ", line)
        self.assertIn("docker run --gpus all", line)

    def test_a_driver_that_is_not_ready(self):
        self.environment["FAKE_STATUS"] = "802"
        self.assertIn("a GPU: cuInit says CUDA_ERROR_SYSTEM_NOT_READY", self.only())

    def test_all_gpus_are_hidden(self):
        self.environment["CUDA_VISIBLE_DEVICES"] = ""
        self.assertEqual(self.only(), "a GPU: cuInit says CUDA_ERROR_NO_DEVICE; CUDA_VISIBLE_DEVICES is ''; unset it")

    def test_a_gpu_that_nvcc_does_not_build_for(self):
        self.environment["FAKE_GPUS"] = "7.0 9.0"
        self.assertIn("a toolkit that knows Fake 0 (compute capability 7.0): nvcc 13.0 does not build for it", self.only())

    def test_a_gpu_without_memory_pools(self):
        self.environment["FAKE_POOLS"] = "0"
        self.assertEqual(self.only(), "a GPU with memory pools: Fake 0 has none, as under some virtual machines")

    def test_without_a_gpu_only_the_build_runs(self):
        self.environment["FAKE_GPUS"] = ""
        self.assertIn("--arch", self.only("--part", "build"))
        self.run_check("--quick", "--part", "build", "--arch", "90")
        self.missing("--part", "tests", "--arch", "90")


class Instead(FakeMachine):
    """What is missing, but has a replacement."""

    def test_make_builds_without_ninja(self):
        self.remove("ninja")
        (self.bin / "make").symlink_to(self.bin / "cmake")
        self.assertIn("ninja is not found, so make builds", self.run_check("--quick", "--part", "build"))
        self.assertIn("-G Unix Makefiles", self.steps()["configure"]["command"])

    def test_a_newer_compiler_stands_beside_gcc(self):
        self.settings["g++"] = "11.4.0"
        fake = (self.bin / "g++").read_text().replace("g++", "g++-12")
        (self.bin / "g++-12").write_text(fake)
        (self.bin / "g++-12").chmod(0o755)
        self.run_check("--quick", "--part", "build")
        configured = next(call for call in self.calls("cmake") if call["arguments"][0] == "-S")
        self.assertEqual(configured["environment"]["CXX"], "g++-12")

    def test_without_nvidia_smi_only_its_figures_are_missing(self):
        self.remove("nvidia-smi")
        self.assertIn("nvidia-smi is not found or fails", self.run_check("--quick"))
        self.assertNotIn("power.draw", self.report())
        self.assertIn("| driver | not found |", self.report())

    def test_without_compute_sanitizer_its_part_is_not_run(self):
        self.remove("compute-sanitizer")
        self.assertIn("compute-sanitizer is not found", self.run_check("--quick"))
        self.assertEqual(self.status("sanitizer/racecheck-quick/ops"), "not run: there is no compute-sanitizer")


class Architectures(unittest.TestCase):
    def test_the_closest_that_runs_on_the_gpu(self):
        codes = [(7, 5), (8, 0), (8, 6), (9, 0), (10, 0), (12, 0)]
        for capability, best in [("9.0", (9, 0)), ("8.9", (8, 6)), ("12.1", (12, 0)), ("13.0", (12, 0)), ("11.0", (10, 0)),
                                 ("7.0", None)]:
            self.assertEqual(requirements.best_code(capability, codes), best, capability)


if __name__ == "__main__":
    unittest.main()
