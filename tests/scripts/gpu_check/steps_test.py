#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Shows that scripts/gpu-check runs each step once and continues where it ended.

usage: steps_test.py FOLDER-OF-SCRIPTS
"""

import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))

from step_test_case import StepTestCase, shell  # noqa: E402

from gpu_check import steps  # noqa: E402


class Resume(StepTestCase):
    def test_a_step_runs_once(self):
        todo = [shell("a", f"echo >> {self.folder}/ran"), shell("b", f"echo >> {self.folder}/ran; exit 3")]
        self.assertEqual(self.run_all(todo), [])
        self.assertEqual(self.run_all(todo), [])
        self.assertEqual(len((self.folder / "ran").read_text().splitlines()), 2)
        self.assertEqual(self.status(), {"a": "passed", "b": "failed"})

    def test_what_the_time_ends_is_left_and_run_again(self):
        slow = shell("slow", f"test -e {self.folder}/again || {{ touch {self.folder}/again; sleep 60; }}")
        todo = [slow, shell("after", "true")]
        self.assertEqual(self.run_all(todo, budget=0.5), ["slow", "after"])
        self.assertEqual(self.status(), {"slow": "interrupted"})
        self.assertEqual(self.run_all(todo), [])
        self.assertEqual(self.status(), {"slow": "passed", "after": "passed"})

    def test_a_step_that_needs_more_than_its_own_time_has_failed(self):
        self.assertEqual(self.run_all([shell("hangs", "sleep 60", timeout=0.3)]), [])
        self.assertEqual(self.status(), {"hangs": "failed"})
        self.assertIn("not done after", self.state.steps["hangs"]["reason"])

    def test_what_never_has_enough_time_has_failed_in_the_end(self):
        slow = shell("slow", "sleep 60")
        for _ in range(steps.MOST_INTERRUPTIONS - 1):
            self.assertEqual(self.run_all([slow], budget=0.3), ["slow"])
        self.assertEqual(self.run_all([slow], budget=0.3), [])
        self.assertIn("give --budget more than 500 s", self.state.steps["slow"]["reason"])

    def test_a_build_may_be_interrupted_again_and_again(self):
        slow = shell("slow", "sleep 60", resumes=True)
        for _ in range(steps.MOST_INTERRUPTIONS + 1):
            self.assertEqual(self.run_all([slow], budget=0.2), ["slow"])

    def test_the_report_is_written_after_every_step(self):
        self.run_all([shell("a", "true"), shell("b", "exit 1"), shell("c", "true")])
        self.assertEqual(self.reports, [(["b", "c"], ""), (["c"], ""), ([], ""), ([], "")])

    def test_what_follows_from_a_step_runs_next(self):
        def follow(result):
            return [shell("a/again", "true")] if result["status"] == "failed" else []
        todo = [shell("a", "exit 1", follow=follow), shell("b", "true", follow=follow)]
        for _ in range(2):
            self.assertEqual(self.run_all(todo), [])
            self.assertEqual(list(self.status()), ["a", "a/again", "b"])

    def test_what_was_not_run_is_looked_at_again(self):
        self.run_all([shell("a", "true", skip="there is no tool")])
        self.assertEqual(self.status(), {"a": "not run"})
        self.run_all([shell("a", "true")])
        self.assertEqual(self.status(), {"a": "passed"})

    def test_a_reason_may_come_from_an_earlier_step(self):
        later = steps.Step("b", "bench", ["true"], skip=lambda state: "no" if state.figures("a")["x"] else "")
        self.run_all([shell("a", "true", read=lambda log: {"x": 1}), later])
        self.assertEqual(self.status(), {"a": "passed", "b": "not run"})

    def test_nothing_follows_a_build_that_fails(self):
        todo = [shell("compile", "exit 1", essential=True), shell("after", "true")]
        for _ in range(2):
            self.assertEqual(self.run_all(todo), [])
            self.assertEqual(self.status(), {"compile": "failed"})
            self.assertEqual(self.reports[-1], (["after"], "compile"))

    def test_a_forgotten_part_runs_again(self):
        todo = [shell("a", "true", part="tests"), shell("b", "true", part="bench")]
        self.run_all(todo)
        self.state.forget("bench")
        self.assertEqual(self.status(), {"a": "passed"})

    def test_a_program_that_is_not_there(self):
        self.run_all([steps.Step("x", "tests", [self.folder / "absent"])])
        self.assertEqual(self.status(), {"x": "failed"})
        self.assertIn("is the part build done?", self.state.steps["x"]["reason"])


if __name__ == "__main__":
    unittest.main()
