#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Shows what scripts/gpu-check runs on a machine with GPUs, and what it reports when something fails there.

usage: run_test.py FOLDER-OF-SCRIPTS
"""

import os
import pathlib
import signal
import sys
import time
import unittest

SCRIPTS = pathlib.Path(sys.argv.pop(1)).resolve()

from fake_machine import FakeMachine  # noqa: E402

FakeMachine.scripts = SCRIPTS
TEST = "tests/cuda_0/ops"


class OneGpu(FakeMachine):
    def test_all_is_well(self):
        self.run_check("--quick")
        self.assertIn("Nothing has failed.", self.report())
        steps = self.steps()
        self.assertEqual({s["status"] for s in steps.values()}, {"passed", "not run", "skipped"})
        self.assertEqual([name for name, s in steps.items() if s["status"] == "skipped"], ["bench/pytorch"])
        for name in ["tests/all_gpus/comm", "tests/nccl-quick/comm", "roofline/all_reduce/nccl", "device/all_gpus"]:
            self.assertEqual(self.status(name), "not run: one GPU only")
        self.check_that_every_step_has_the_order_of_nvidia_smi()
        self.check_that_the_machine_is_described()

    def check_that_every_step_has_the_order_of_nvidia_smi(self):
        for program in ["cmake", "ops_test", "comm_test", "tandem", "ops_bench", "step_bench", "compute-sanitizer"]:
            for call in self.calls(program):
                if "--version" not in call["arguments"]:
                    self.assertEqual(call["environment"].get("CUDA_DEVICE_ORDER"), "PCI_BUS_ID", call)

    def check_that_the_machine_is_described(self):
        text = self.report()
        for words in ["| cuda:0 | Fake 0, compute capability 9.0, 81920 MiB, 0000:00:00.0 |", "| driver | <driver_version> |",
                      "clocks.max.sm <clocks.max.sm>", "ecc.mode.current", "mig.mode.current", "pcie.link.gen.max", "power.limit",
                      "| CUDA of the driver | 13.0 |", "| toolkit | 13.0 |", "| NCCL | 2.28.3 |", "| cuDNN | not found |",
                      "| built for | sm_90 |", "        GPU0\nGPU0     X", "| PyTorch | not found"]:
            self.assertIn(words, text)

    def test_figures_stand_beside_the_roof(self):
        self.run_check("--quick", "--part", "build", "--part", "roofline")
        # The fake GPU's memory: 2 x 1 MHz x 1000 bits; an all-reduce of four ranks has an eighth of it.
        self.assertIn("| roofline/ops | BM_Add/n:1 | 1 us | 1000 GB/s | 0 GB/s | 400000% |", self.report())
        self.assertIn("| all_reduce, 1 bytes, 4 ranks, local | 1 us | 10 GB/s |", self.report())

    def test_the_clocks_are_those_under_load(self):
        self.settings["wait for samples"] = True
        self.run_check("--quick", "--part", "build", "--part", "roofline")
        self.assertIn("clocks.sm 1980 MHz, clocks.mem 2619 MHz, temperature.gpu 40, power.draw 300.50 W", self.report())
        self.assertIn("0000:00:00.0", next(c["arguments"] for c in self.calls("nvidia-smi") if "-lms" in c["arguments"]))

    def test_memcheck_leaves_out_what_would_fail_every_test(self):
        self.run_check("--quick", "--part", "build", "--part", "sanitizer")
        memcheck = [c["arguments"] for c in self.calls("compute-sanitizer") if "memcheck" in c["arguments"]]
        self.assertEqual(len(memcheck), 2)
        for arguments in memcheck:
            text = " ".join(arguments)
            self.assertIn("--report-api-errors no --track-stream-ordered-races all --leak-check no", text)
            self.assertIn("*Timeout*", text)

    def test_a_pytorch_that_does_not_start_is_no_failure_of_tandem(self):
        (self.folder / "torch.py").write_text("raise OSError('libcudart.so.13')")
        self.environment["PYTHONPATH"] = str(self.folder)
        self.run_check("--quick", "--part", "build", "--part", "bench")
        self.assertEqual(self.status("bench/pytorch"),
                         "skipped: there is no PyTorch that sees a GPU (OSError: libcudart.so.13)")

    def test_pytorch_is_started_once(self):
        module = self.folder / "modules" / "torch.py"
        module.parent.mkdir()
        module.write_text(f"with open('{self.folder}/started', 'a') as file:\n    file.write('x')\n"
                          "__version__ = '2.9'\nclass version:\n    cuda = '13.0'\n"
                          "class cuda:\n    is_available = staticmethod(lambda: False)\n")
        self.environment["PYTHONPATH"] = str(module.parent)
        self.run_check("--quick")
        self.run_check("--quick")
        self.assertEqual((self.folder / "started").read_text(), "x")
        self.assertIn("| PyTorch | 2.9, CUDA 13.0 |", self.report())


class SeveralGpus(FakeMachine):
    def setUp(self):
        super().setUp()
        self.environment["FAKE_GPUS"] = "9.0 8.0 9.0"

    def environment_of(self, name):
        label = name.replace("/", "_")
        return next(c["environment"] for c in self.calls("comm_test")
                    if c["environment"]["GTEST_OUTPUT"].endswith(f"/{label}.json"))

    def test_all_are_built_for_and_used(self):
        self.run_check("--part", "build", "--part", "tests")
        self.assertIn("-DCMAKE_CUDA_ARCHITECTURES=80;90", self.steps()["configure"]["command"])
        for name, devices in [("all_gpus", "cuda:0,cuda:1,cuda:2"), ("two_gpus", "cuda:0,cuda:1"),
                              ("two_gpus_x2", "cuda:0x2,cuda:1x2")]:
            self.assertEqual(self.environment_of(f"tests/{name}/comm")["TANDEM_TEST_DEVICES"], devices)
        self.assertIn("| peers | cuda:0 reads cuda:1, cuda:2; ", self.report())
        self.assertEqual(self.environment_of("tests/no_peers/comm")["TANDEM_NO_CUDA_PEERS"], "1")
        self.check_that_nccl_runs_in_three_ways()

    def check_that_nccl_runs_in_three_ways(self):
        for name, more in [("nccl", {}), ("nccl_eager", {"CUDA_MODULE_LOADING": "EAGER"}),
                           ("nccl_no_peers", {"NCCL_P2P_DISABLE": "1"})]:
            environment = self.environment_of(f"tests/{name}/comm/1of4")
            self.assertEqual(environment["TANDEM_TEST_BACKEND"], "nccl")
            self.assertEqual({k: v for k, v in environment.items() if k in ("CUDA_MODULE_LOADING", "NCCL_P2P_DISABLE")}, more)

    def test_a_build_without_nccl(self):
        self.settings["nccl"] = "2.17.1"
        self.run_check("--quick")
        reason = "the headers of 2.17.1 are found, but the build does not use it"
        self.assertEqual(self.status("tests/nccl-quick/comm"), f"not run: built without NCCL: {reason}")
        self.assertIn(f"| NCCL | {reason} |", self.report())

    def test_two_gpus_are_all_gpus(self):
        self.environment["FAKE_GPUS"] = "9.0 9.0"
        self.run_check("--part", "build", "--part", "tests")
        self.assertEqual(self.status("tests/two_gpus/comm"), "not run: the same as all_gpus: two GPUs")


class Failures(FakeMachine):
    def test_a_build_that_fails(self):
        self.settings["compile fails"] = True
        self.run_check("--quick", wanted=1)
        self.assertEqual(self.status("compile/quick"), "failed: exit status 1: error: no such thing as a GPU")
        self.assertIn("Nothing followed, because compile/quick has failed.", self.report())

    def test_tandem_that_sees_no_gpu(self):
        self.settings["no device"] = True
        self.run_check("--quick", wanted=1)
        self.assertEqual(self.status("device/cuda_0"), "failed: exit status 1: tandem: cuda:0: this machine has 0 GPUs")
        self.assertIn("this machine has 0 GPUs", self.report())
        self.assertNotIn("tests/cuda_0/ops", self.steps())

    def test_nothing_ran_on_a_gpu(self):
        self.settings["tests"] = {"all": "skips"}
        said = self.run_check("--part", "build", "--part", "tests", wanted=1)
        self.assertIn("nothing ran on a GPU", said)
        self.assertIn("Nothing ran on a GPU.", self.report())
        self.assertEqual(self.status("tests/cuda_0/comm"), "skipped: needs 2 devices")

    def test_a_test_that_fails_only_with_others(self):
        self.settings["tests"] = {"ops_test ReduceTest.B": "fails with others"}
        self.run_check("--quick", "--part", "build", "--part", "tests", wanted=1)
        self.assertEqual(self.status(TEST), "failed")
        self.assertEqual(self.status(f"{TEST}/alone/ReduceTest.B"), "passed")
        self.assertIn(f"| {TEST} | failed | 4 | 0 | ReduceTest.B | ReduceTest.B passed alone |", self.report())

    def test_a_test_that_fails_alone_too(self):
        self.settings["tests"] = {"ops_test ReduceTest.B": "fails"}
        self.run_check("--quick", "--part", "build", "--part", "tests", wanted=1)
        self.assertIn("| ReduceTest.B failed alone |", self.report())

    def test_a_crash_is_named_and_the_tests_behind_it_run(self):
        self.settings["tests"] = {"ops_test ReduceTest.B": "crashes"}
        self.run_check("--quick", "--part", "build", "--part", "tests", wanted=1)
        self.assertIn("failed: ended by SIGABRT", self.status(TEST))
        self.assertEqual(self.steps()[TEST]["figures"]["unfinished"], "ReduceTest.B")
        self.assertEqual(self.status(f"{TEST}/rest1"), "passed")
        self.assertEqual(self.steps()[f"{TEST}/rest1"]["figures"]["tests"], 2)
        self.assertIn("failed: ended by SIGABRT", self.status(f"{TEST}/alone/ReduceTest.B"))
        self.assertIn("| ReduceTest.B failed alone |", self.report())

    def test_a_finding_of_the_sanitizer(self):
        self.settings["sanitizer finds"] = True
        self.run_check("--quick", wanted=1)
        self.assertEqual(self.status("sanitizer/memcheck-quick/ops"), "failed: exit status 99: ========= ERROR SUMMARY: 1 error")


class Ended(FakeMachine):
    """A session that is ended in the middle."""

    def end_by(self, number):
        """The status of gpu-check that is ended while a test hangs; that test's process ends too."""
        self.settings["tests"] = {"comm_test ReduceTest.A": "hangs"}
        process = self.start("--quick", "--part", "build", "--part", "tests")
        self.addCleanup(process.stdout.close)
        end, hangs = time.monotonic() + 60, self.folder / "hangs"
        while not (hangs.exists() and hangs.read_text()) and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(number)
        status = process.wait(30)
        with self.assertRaises(ProcessLookupError):
            while time.monotonic() < end:
                os.kill(int(hangs.read_text()), 0)
                time.sleep(0.05)
        return status

    def continues(self):
        self.settings = {}
        said = self.run_check("--quick", "--part", "build", "--part", "tests")
        self.assertNotIn(TEST, said)
        self.assertEqual(self.status("tests/cuda_0/comm"), "passed")

    def test_the_report_has_what_ended_before_a_kill(self):
        self.end_by(signal.SIGKILL)
        self.assertIn(f"| {TEST} | passed | 4 |", self.report())
        self.assertIn("Not run yet: tests/cuda_0/comm, tests/cuda_0x4/ops", self.report())
        self.continues()

    def test_a_polite_end_is_no_failure(self):
        self.assertEqual(self.end_by(signal.SIGTERM), 3)
        self.continues()


class StandIn(FakeMachine):
    def test_all_steps_but_the_sanitizers_are_tried(self):
        self.environment["FAKE_GPUS"] = ""
        self.remove("nvidia-smi", "compute-sanitizer")
        self.run_check("--quick", "--stand-in")
        self.assertEqual(self.status("tests/nccl-quick/comm"), "passed")
        self.assertEqual(self.status("sanitizer/memcheck-quick/ops"), "not run: the stand-in is not a GPU")
        self.assertIn("no figure means anything", self.report())
        self.assertTrue(all(c["environment"]["TANDEM_STAND_IN_GPUS"] == "2" for c in self.calls("comm_test")))


if __name__ == "__main__":
    unittest.main()
