#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Shows that scripts/gpu-check brief runs its stages in their order, keeps what ended, and ends in time.

usage: brief_test.py FOLDER-OF-SCRIPTS
"""

import contextlib
import io
import json
import os
import pathlib
import re
import signal
import sys
import time
import unittest
import warnings
from unittest import mock

SCRIPTS = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SCRIPTS))

import fake_tools  # noqa: E402
from fake_machine import FakeMachine  # noqa: E402
from step_test_case import StepTestCase, shell  # noqa: E402

from gpu_check import command_line, staged  # noqa: E402
from gpu_check.brief import check, stages  # noqa: E402
from gpu_check.brief.plan import PackPlan  # noqa: E402
from gpu_check.pack import FOLDERS  # noqa: E402

STAGES = ["roofs", "tests", "gpt2", "products", "models", "logical", "sanitizer", "ncu", "compile"]


def ends(file):
    """Whether the process whose number is in the file ends within seconds; nobody may have asked how yet."""
    stat = pathlib.Path("/proc", file.read_text().strip(), "stat")
    end = time.monotonic() + 10
    try:
        while stat.read_text().rsplit(")", 1)[1].split()[0] != "Z":
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
    except OSError:
        pass
    return True


class Clock(StepTestCase):
    """Stages of shells, in this process."""

    def brief(self, *stages_, seconds=30, started=None):
        """What `check` returns for stages, each (name, seconds, steps)."""
        plan = PackPlan(self.folder, self.folder, [], "", "", stand_in=True, rounds=1, quick=True, gpus=[{}])
        made = [stages.Stage(name, limit, name, steps) for name, limit, steps in stages_]
        with (mock.patch.object(check, "stages", lambda plan: made), mock.patch.object(staged, "LEAST", 0.1),
              contextlib.redirect_stdout(io.StringIO())):
            status = check.Brief(plan, seconds, self.said.append, started or time.monotonic()).run()
        self.results = json.loads((self.folder / "results.json").read_text())
        return status

    def outcomes(self):
        return {name: ": ".join(filter(None, [s["status"], s.get("reason")])) for name, s in self.results["steps"].items()}

    def test_a_stage_that_hangs_is_killed_at_its_limit(self):
        pid = self.folder / "pid"
        hangs = shell("gpt2/a", f"sleep 60 & echo $! > {pid}; wait", part="gpt2")
        begun = time.monotonic()
        status = self.brief(("gpt2", 0.5, [hangs, shell("gpt2/b", "true", part="gpt2")]),
                            ("models", 5, [shell("models/a", "true", part="models")]))
        self.assertLess(time.monotonic() - begun, 5)
        self.assertEqual(self.outcomes()["models/a"], "passed")
        self.assertIn("failed: not done after", self.outcomes()["gpt2/a"])
        self.assertEqual(self.outcomes()["gpt2/b"], "not run: no time was left")
        self.assertEqual(status, staged.LEFT)
        self.assertTrue(ends(pid))

    def test_what_cannot_be_killed_does_not_keep_it(self):
        pid = self.folder / "pid"
        step = shell("gpt2/a", f"echo $$ > {pid}; exec sleep 60", part="gpt2")
        self.addCleanup(lambda: os.kill(int(pid.read_text()), signal.SIGKILL))
        begun = time.monotonic()
        with mock.patch("os.killpg"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # nobody waits for it
            status = self.brief(("gpt2", 0.2, [step]), ("models", 5, [shell("models/a", "true", part="models")]), seconds=1)
        self.assertLess(time.monotonic() - begun, 3)
        self.assertEqual(self.outcomes(), {"gpt2/a": "failed: it did not end when it was killed",
                                           "models/a": "not run: no time was left"})
        self.assertEqual(status, staged.LEFT)

    def test_output_that_nobody_expected_costs_one_step(self):
        bad = shell("products/a", "true", part="products", read=lambda log: [].pop())
        odd = shell("products/b", "true", part="products", read=lambda log: {"BM_X": {"real_time": "long"}})
        self.brief(("products", 5, [bad, odd]), ("models", 5, [shell("models/a", "true", part="models")]))
        self.assertEqual(self.outcomes(), {"products/a": "failed: IndexError: pop from empty list", "products/b": "passed",
                                           "models/a": "passed"})
        self.assertIn("cannot be shown: ", (self.folder / "report.md").read_text())

    def test_the_stages_fit_and_are_those_of_the_help(self):
        plan = PackPlan(self.folder, self.folder, [], "", "", stand_in=False, rounds=1, quick=True, gpus=[{}])
        (self.folder / "tests").mkdir()
        made = stages.stages(plan)
        self.assertEqual([(stage.name, str(stage.seconds)) for stage in made],
                         re.findall(r"^  (\w+) +(\d+) s ", command_line.BRIEF, re.MULTILINE))
        self.assertLessEqual(sum(stage.seconds for stage in made), command_line.BRIEF_SECONDS - 5)
        names = [step.name for stage in made for step in stage.steps]
        self.assertEqual(len(names), len(set(names)))
        self.assertTrue(all(step.part == stage.name for stage in made for step in stage.steps))

    def test_the_time_before_the_stages_counts(self):
        self.brief(("models", 5, [shell("models/a", "sleep 60", part="models")]), seconds=100, started=time.monotonic() - 98)
        self.assertEqual(self.outcomes(), {"models/a": "not run: no time was left"})

    def test_another_call_continues(self):
        stages_ = [("models", 1, [shell("models/a", f"echo >> {self.folder}/ran", part="models"),
                                  shell("models/b", f"test -e {self.folder}/again || sleep 60", part="models"),
                                  shell("models/c", "true", part="models")])]
        self.assertEqual(self.brief(*stages_), staged.LEFT)
        self.assertEqual(self.brief(*stages_), staged.FAILED)  # b has had its time, and is not run again
        self.assertEqual(self.outcomes()["models/c"], "passed")
        self.assertEqual((self.folder / "ran").read_text(), "\n")

    def test_another_pack_begins_anew(self):
        stage = ("models", 5, [shell("models/a", f"echo >> {self.folder}/ran", part="models")])
        self.assertEqual(self.brief(stage), staged.OK)
        (self.folder / "subject.json").write_text('{"commit": "another"}')
        self.brief(stage)
        self.assertEqual((self.folder / "ran").read_text(), "\n\n")

    def test_nothing_follows_what_is_essential_until_it_is_put_right(self):
        library = shell("roofs/libraries", f"test -e {self.folder}/installed", part="roofs", essential=True)
        stages_ = [("roofs", 5, [library]), ("models", 5, [shell("models/a", "true", part="models")])]
        self.assertEqual(self.brief(*stages_), staged.FAILED)
        self.assertEqual(self.outcomes()["models/a"], "not run: roofs/libraries has failed")
        (self.folder / "installed").touch()
        self.assertEqual(self.brief(*stages_), staged.OK)


class Pack(FakeMachine):
    """A pack whose programs are fake, on a fake machine with one GPU."""

    def setUp(self):
        super().setUp()
        for name in ("ldd", "ncu"):
            fake_tools.write_program(self.bin / name, name)
        self.pack = self.folder / "tandem-gpu-pack"
        tree = self.pack / "tree"
        tests = [tree / "tests" / folder.split("_")[0] / f"{folder}_test" for folder in FOLDERS]
        for path in [tree / "tandem", *tests, tree / "bench" / "step" / "step_bench", tree / "bench" / "ops" / "ops_bench"]:
            fake_tools.write_program(path, path.name)
        (self.pack / "bench").mkdir()
        (self.pack / "bench" / "peers").symlink_to(SCRIPTS.parent / "bench" / "peers")
        (self.pack / "pack.json").write_text(json.dumps({"commit": "c0ffee", "stand_in": False, "built for": "sm_90"}))

    def command(self, *arguments):
        return [self.scripts / "gpu-check", "brief", "--pack", self.pack, "--out", self.out, *arguments]

    def outcomes(self):
        return {s["name"]: s["outcome"] for s in json.loads((self.out / "results.json").read_text())["stages"]}

    def written_before(self, program, word):
        return next(c["written"] for c in self.calls(program) if word in " ".join(c["arguments"]))

    def test_all_is_well(self):
        said = self.run_check()
        self.check_the_order()
        self.check_the_report(said)
        self.check_what_the_programs_were_given()

    def check_the_order(self):
        for program, word, stage in [("ops_test", "", "tests"), ("step_bench", "--model gpt2", "gpt2"),
                                     ("ops_bench", "(m|k)", "products"), ("step_bench", "--model mlp", "models"),
                                     ("tandem", "explain", "logical"),
                                     ("compute-sanitizer", "racecheck", "sanitizer"), ("ncu", "", "ncu")]:
            self.assertEqual(self.written_before(program, word), STAGES[:STAGES.index(stage)], program)

    def check_the_report(self, said):
        self.assertEqual(set(self.outcomes().values()), {"passed", "compile/gpt2: not run: there is no PyTorch that sees a GPU"})
        for i, stage in enumerate(STAGES):  # the table comes after each stage
            self.assertEqual(said.count(f"| {stage} |"), len(STAGES) - i, stage)
        text = self.report()
        for words in ["| cuda:0 | Fake 0, compute capability 9.0, 81920 MiB |", "| commit | c0ffee |", "name <name>, driver",
                      "48 tests, 0 skipped, 0 failed", "BM_Product 800.00 TFLOP/s", "| gpt2/eager/gpt2:bf16 | 1.0 | 2.0 |",
                      "| step | outcome | Memory Throughput, % |", "| ncu/attention | passed | 81.53 |",
                      "| cuda:0 | 1.500 | 2.500 | 3.500 |"]:
            self.assertIn(words, text)

    def check_what_the_programs_were_given(self):
        self.assertEqual(len(self.calls("ops_test")), 5 + 2)  # shards, and under both sanitizers
        self.assertEqual([c["environment"].get("CUDA_DEVICE_MAX_CONNECTIONS") for c in self.calls("step_bench")
                          if "cuda:0x4" in c["arguments"]], ["8", "32", "8", "32"])
        self.assertTrue(all(c["environment"]["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID" for c in self.calls("tandem")))

    def test_a_missing_library_stops_it_by_its_name(self):
        self.settings["ldd does not find"] = ["libcublasLt.so.13"]
        said = self.run_check(wanted=1)
        self.assertIn("libcublasLt.so.13, of ops_bench, step_bench, tandem, ", said)
        self.assertIn("pip install torch", said)
        self.assertIn("- libcublasLt.so.13, of ", self.report())
        self.assertEqual(self.outcomes()["tests"], "tests/cuda_0x4: not run: roofs/libraries has failed")
        self.assertEqual(said.count("| stage |"), 1)
        self.assertEqual({call["program"] for call in map(json.loads, (self.folder / "calls.jsonl").read_text().splitlines())},
                         {"ldd"})

    def test_it_ends_at_its_time_while_a_program_hangs(self):
        self.settings["hangs"] = ["step_bench", "--model gpt2"]
        begun = time.monotonic()
        said = self.run_check("--seconds", "8", wanted=3)
        self.assertLess(time.monotonic() - begun, 12)
        self.assertIn("failed: not done after", self.outcomes()["gpt2"])
        self.assertIn("no time was left", self.outcomes()["products"])
        self.assertIn("the same command continues", said)
        self.assertTrue(ends(self.folder / "hangs"))

    def test_a_failed_shard_names_its_test_which_runs_alone(self):
        self.settings["tests"] = {"ops_test ReduceTest.B": "fails with others", "comm_test AllReduce.C": "crashes"}
        self.settings["no counters"] = True
        self.run_check(wanted=1)
        self.assertIn("ReduceTest.B passed alone", self.report())
        self.assertIn("AllReduce.C failed alone", self.report())
        self.assertIn("ERR_NVGPUCTRPERM", self.report())
        self.assertEqual(self.outcomes()["ncu"], "passed")

    def test_what_ended_is_kept_when_it_is_interrupted(self):
        self.settings["hangs"] = ["ops_bench", "(m|k)"]
        process = self.start()
        self.addCleanup(process.stdout.close)
        end, hangs = time.monotonic() + 30, self.folder / "hangs"
        while not (hangs.exists() and hangs.read_text()) and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(10), 3)
        self.assertEqual({name: self.outcomes()[name] for name in ("tests", "gpt2", "products", "models")},
                         {"tests": "passed", "gpt2": "passed", "products": "products/gpt2: interrupted", "models": "not yet"})
        self.assertTrue(ends(hangs))

    def test_what_is_no_pack(self):
        (self.pack / "pack.json").unlink()
        self.assertIn("is no pack", self.run_check(wanted=2))


FakeMachine.scripts = SCRIPTS

if __name__ == "__main__":
    unittest.main()
