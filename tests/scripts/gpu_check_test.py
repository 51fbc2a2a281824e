#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Shows that scripts/gpu-check continues where it ended, and reports what ran and what did not.

usage: gpu_check_test.py FOLDER-OF-SCRIPTS
"""

import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv.pop(1))

from gpu_check import bundle, parts, report, steps  # noqa: E402


def shell(name, text, **options):
    return steps.Step(name, options.pop("part", "tests"), ["sh", "-c", text], **options)


class GpuCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tandem-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.said = []

    def run_all(self, todo, budget=60):
        """The names of the steps that are left, according to a state that was read from its file."""
        self.state = steps.State(self.folder)
        return [step.name for step in steps.run_all(todo, self.state, budget, self.said.append)]

    def status(self):
        return {name: s["status"] for name, s in self.state.steps.items()}


class Resume(GpuCheck):
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

    def test_nothing_follows_a_build_that_fails(self):
        todo = [shell("compile", "exit 1", essential=True), shell("after", "true")]
        for _ in range(2):
            self.assertEqual(self.run_all(todo), [])
            self.assertEqual(self.status(), {"compile": "failed"})

    def test_a_forgotten_part_runs_again(self):
        todo = [shell("a", "true", part="tests"), shell("b", "true", part="bench")]
        self.run_all(todo)
        self.state.forget("bench")
        self.assertEqual(self.status(), {"a": "passed"})

    def test_a_program_that_is_not_there(self):
        self.run_all([steps.Step("x", "tests", [self.folder / "absent"])])
        self.assertEqual(self.status(), {"x": "failed"})
        self.assertIn("is the part build done?", self.state.steps["x"]["reason"])


class Read(GpuCheck):
    def googletest(self, *cases):
        """A step that writes GoogleTest's JSON with `cases`, which are (name, result, failed)."""
        file = self.folder / "tests.json"
        suite = [{"classname": "C", "name": name, "result": result, **({"failures": [{}]} if failed else {})}
                 for name, result, failed in cases]
        text = json.dumps({"testsuites": [{"testsuite": suite}]})
        return shell("t", f"echo 'needs 4 devices'; echo '{text}' > {file}", read=parts.read_tests(file), writes=file)

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
        self.run_all([shell("t", "true", read=parts.read_tests(file), writes=file)])
        self.assertEqual(self.status(), {"t": "failed"})

    def test_the_last_object_of_a_log(self):
        self.assertEqual(parts.read_json('{"a": 1}\nnoise {\n{\n "b": {"c": 2}\n}\nmore\n'), {"b": {"c": 2}})
        self.assertEqual(parts.read_json('{"a": 1}'), {"a": 1})
        with self.assertRaises(ValueError):
            parts.read_json("no object")


class Report(GpuCheck):
    def test_both_files(self):
        figures = {"tandem_ms": {"median": 2, "min": 1, "max": 3}, "peer_ms": {"median": 4, "min": 4, "max": 4},
                   "ratio": 0.5, "peak_mib": {"tandem": 10.0, "peer": None}}
        todo = [shell("bench/mlp/eager", f"echo '{json.dumps(figures)}'", part="bench", read=parts.read_json),
                shell("bench/ops", "true", part="bench", skip="there is no GPU")]
        self.run_all(todo)
        path = report.write(self.state, {"commit": "c0ffee", "gpu": "none"}, False, ["tests/x"])
        text = path.read_text()
        self.assertIn("| bench/mlp/eager | 2.000 (1.000-3.000) | 4.000 (4.000-4.000) | 0.5 | 10.0 | - |", text)
        self.assertIn("| bench/ops | skipped: there is no GPU |", text)
        self.assertIn("c0ffee", text)
        self.assertIn("Not run yet: tests/x.", text)
        self.assertEqual(json.loads((self.folder / "results.json").read_text())["steps"]["bench/mlp/eager"]["figures"],
                         figures)


    def test_ops_stand_beside_pytorchs(self):
        name = "BM_LinearF32/m:2/n:3/k:4"
        ours = {name + "/path:0/threads:1": {"real_time": 5, "time_unit": "us", "FLOP/s": 3e12},
                "BM_Other/n:1": {"real_time": 1, "time_unit": "us", "bytes_per_second": 2e9}}
        theirs = {"ops": {name: {"real_time": 4, "time_unit": "us", "FLOP/s": 4e12}}}
        ops = [{"name": f"op{i}", "calls": 1, "ms": 9 - i, "share": 0.2, "of_roof": 0.5} for i in range(7)]
        profile = {"step_ms": {"p50": 1, "p90": 2}, "ops": ops}
        todo = [shell("bench/ops", f"echo '{json.dumps(ours)}'", part="bench", read=parts.read_json),
                shell("bench/ops-pytorch", f"echo '{json.dumps(theirs)}'", part="bench",
                      read=lambda log: parts.read_json(log)["ops"]),
                shell("bench/mlp/profile", f"echo '{json.dumps(profile)}'", part="bench", read=parts.read_json)]
        self.run_all(todo)
        text = report.write(self.state, {}, False, []).read_text()
        self.assertIn(f"| {name}/path:0/threads:1 | 5 us | 3.00 TFLOP/s | 4.00 TFLOP/s | 75% |", text)
        self.assertIn("| BM_Other/n:1 | 1 us | 2 GB/s | - | - |", text)
        self.assertIn("| bench/mlp/profile | op0 | 9.000 | 20% | 50% |", text)
        self.assertIn("| bench/mlp/profile | op4 |", text)
        self.assertNotIn("op5", text)


class Bundle(GpuCheck):
    def test_what_comes_of_a_package(self):
        def wanted(path):
            return bool((bundle.WANTED.search(path) or bundle.STATIC.search(path)) and not bundle.NOT_WANTED.search(path))
        lib = "/usr/lib/x86_64-linux-gnu"
        for path in ["/usr/include/fmt/core.h", f"{lib}/libz.so", f"{lib}/librapidcheck.a",
                     f"{lib}/cmake/fmt/fmt-config.cmake", "/usr/share/cmake/CLI11/CLI11Config.cmake"]:
            self.assertTrue(wanted(path), path)
        for path in [f"{lib}/libz.a", f"{lib}/openblas-pthread/libopenblasp-r0.3.21.a", "/usr/share/doc/fmt/copyright",
                     f"{lib}/openblas-pthread/libblas.so", f"{lib}/pkgconfig/zlib.pc"]:
            self.assertFalse(wanted(path), path)


if __name__ == "__main__":
    unittest.main()
