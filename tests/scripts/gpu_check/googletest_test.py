#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Shows what scripts/gpu-check reads from a test program's results, and what it runs again.

usage: googletest_test.py FOLDER-OF-SCRIPTS
"""

import json
import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))

from step_test_case import StepTestCase, shell  # noqa: E402

from gpu_check import figures, googletest  # noqa: E402
from gpu_check.plan import Plan  # noqa: E402


class Read(StepTestCase):
    def googletest(self, *cases):
        """A step that writes GoogleTest's JSON with `cases`, which are (name, result, failed)."""
        file = self.folder / "tests.json"
        suite = [{"classname": "C", "name": name, "result": result, **({"failures": [{}]} if failed else {})}
                 for name, result, failed in cases]
        text = json.dumps({"testsuites": [{"testsuite": suite}]})
        return shell("t", f"echo 'needs 4 devices'; echo '{text}' > {file}", read=googletest.read_tests(file), writes=file)

    def test_counts_and_names(self):
        self.run_all([self.googletest(("a", "COMPLETED", False), ("b", "SKIPPED", False), ("c", "COMPLETED", True))])
        self.assertEqual(self.state.steps["t"]["figures"],
                         {"tests": 3, "skipped": 1, "failed": ["C.c"], "reasons": ["needs 4 devices"]})

    def test_all_skipped_is_not_passed(self):
        self.run_all([self.googletest(("a", "SKIPPED", False))])
        self.assertEqual(self.status(), {"t": "skipped"})

    def test_results_of_an_earlier_run_do_not_count(self):
        file = self.folder / "tests.json"
        file.write_text(json.dumps({"testsuites": []}))
        self.run_all([shell("t", "true", read=googletest.read_tests(file), writes=file)])
        self.assertEqual(self.status(), {"t": "failed"})

    def test_a_program_that_ends_in_a_test(self):
        log = "[ RUN      ] C.a\n[       OK ] C.a (1 ms)\n[ RUN      ] C.b\n[  SKIPPED ] C.b (0 ms)\n[ RUN      ] C.c\n"
        self.run_all([shell("t", f"printf '{log}'", read=googletest.read_tests(self.folder / "absent"))])
        self.assertEqual(self.status(), {"t": "failed"})
        figures_ = self.state.steps["t"]["figures"]
        self.assertEqual((figures_["tests"], figures_["skipped"], figures_["failed"]), (3, 1, ["C.c"]))

    def test_a_test_that_hangs_is_named(self):
        hangs = shell("t", "echo '[ RUN      ] C.a'; sleep 60", timeout=0.3, read=googletest.read_tests(self.folder / "absent"))
        self.run_all([hangs])
        self.assertEqual(self.state.steps["t"]["figures"]["unfinished"], "C.a")
        self.assertIn("not done after", self.state.steps["t"]["reason"])

    def test_the_last_object_of_a_log(self):
        self.assertEqual(figures.read_json('{"a": 1}\nnoise {\n{\n "b": {"c": 2}\n}\nmore\n'), {"b": {"c": 2}})
        self.assertEqual(figures.read_json('{"a": 1}'), {"a": 1})
        with self.assertRaises(ValueError):
            figures.read_json("no object")


class Again(StepTestCase):
    def program(self, quick=False, **options):
        plan = Plan(self.folder, self.folder, ["90"], "Ninja", "g++", stand_in=False, rounds=5, quick=quick, gpus=[{}])
        return googletest.Program(plan, "tests", "tests/x/ops", "ops", "cuda:0", **options)

    def follow(self, failed, **options):
        result = {"figures": {"failed": failed, **options.pop("figures", {})}}
        return self.program(**options).step().follow(result)

    def test_each_failed_test_runs_alone(self):
        todo = self.follow(["A.a", "B.b"], wrap=("tool", "--x"))
        self.assertEqual([step.name for step in todo], ["tests/x/ops/alone/A.a", "tests/x/ops/alone/B.b"])
        self.assertEqual([step.command[0] for step in todo], ["tool", "tool"])
        self.assertEqual(todo[0].command[-1], "--gtest_filter=A.a")

    def test_not_more_than_a_few(self):
        self.assertEqual(len(self.follow([f"A.t{i}" for i in range(100)])), googletest.MOST_ALONE)

    def test_what_a_crash_left_out_runs_without_what_had_begun(self):
        crash = {"unfinished": "A.b", "begun": ["A.a", "A.b"]}
        todo = self.follow(["A.b"], figures=crash, filter=googletest.Filter(("A.*",), ("A.x",)))
        self.assertEqual(todo[-1].name, "tests/x/ops/rest1")
        self.assertEqual(todo[-1].command[-1], "--gtest_filter=A.*-A.x:A.a:A.b")
        later = todo[-1].follow({"figures": {"failed": ["A.c"], "unfinished": "A.c", "begun": ["A.c"]}})
        self.assertEqual([step.name for step in later], ["tests/x/ops/alone/A.c", "tests/x/ops/rest2"])

    def test_a_quick_check_goes_on_behind_one_crash(self):
        crash = {"failed": ["A.b"], "unfinished": "A.b", "begun": ["A.b"]}
        rest = self.program(quick=True).step().follow({"figures": crash})[-1]
        self.assertEqual(rest.name, "tests/x/ops/rest1")
        self.assertEqual([step.name for step in rest.follow({"figures": crash})], ["tests/x/ops/alone/A.b"])

    def test_shards_are_all_of_the_tests(self):
        shards = self.program(environment={"A": "1"}).shards(3)
        self.assertEqual([step.name for step in shards], [f"tests/x/ops/{i}of3" for i in (1, 2, 3)])
        self.assertEqual([step.environment["GTEST_SHARD_INDEX"] for step in shards], ["0", "1", "2"])
        self.assertTrue(all(step.environment["A"] == "1" for step in shards))

    def test_a_shard_is_not_run_without_its_number(self):
        crash = {"unfinished": "A.b", "begun": ["A.a", "A.b"]}
        todo = self.follow(["A.b"], figures=crash, environment={"GTEST_TOTAL_SHARDS": "4", "GTEST_SHARD_INDEX": "1"})
        self.assertEqual([step.name for step in todo], ["tests/x/ops/alone/A.b"])
        self.assertNotIn("GTEST_TOTAL_SHARDS", todo[0].environment)


if __name__ == "__main__":
    unittest.main()
