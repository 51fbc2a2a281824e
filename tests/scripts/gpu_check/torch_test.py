#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What scripts/gpu-check torch takes, and what it says of its stages; torch_run_test.py runs them.

usage: torch_test.py FOLDER-OF-SCRIPTS
"""

import contextlib
import io
import pathlib
import re
import sys
import tempfile
import unittest
import zipfile
from types import SimpleNamespace

SCRIPTS = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SCRIPTS))

from gpu_check import command_line, steps  # noqa: E402
from gpu_check.figures import read_told  # noqa: E402
from gpu_check.torch_training import check, report  # noqa: E402

HERE = f"{sys.version_info.major}{sys.version_info.minor}"


class TorchTraining(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def wheel(self, python):
        path = self.folder / "tandem.whl"
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr(f"tandem/_core.cpython-{python}-x86_64-linux-gnu.so", "")
        return path

    def refusal(self, wheel):
        with self.assertRaises(check.PackageError) as caught:
            check.package(wheel, self.folder)
        return str(caught.exception)

    def test_a_wheel_is_unpacked(self):
        self.assertTrue(list(check.package(self.wheel(HERE), self.folder).glob("tandem/_core.*")))

    def test_a_wheel_of_another_python_is_refused(self):
        self.assertIn("is for another Python than this one, " + ".".join(map(str, sys.version_info[:2])), self.refusal(self.wheel("27")))

    def test_what_is_no_wheel_is_refused(self):
        self.assertIn("is no wheel", self.refusal(self.folder))
        (self.folder / "text").write_text("no")
        self.assertIn("is no wheel", self.refusal(self.folder / "text"))

    def test_without_tandem_the_remedy_is_said(self):
        said = []
        arguments = command_line.parse(["torch", "--out", str(self.folder)])
        self.assertEqual(check.run(arguments, said.append, 0), check.WRONG)
        self.assertIn("name a wheel by --wheel", said[0])

    def test_the_stages_fit_and_are_those_of_the_help(self):
        made = check.stages(self.folder, small=False, source=None)
        self.assertEqual([(stage.name, str(stage.seconds)) for stage in made], re.findall(r"^  (\w+) +(\d+) s ", command_line.TORCH, re.MULTILINE))
        self.assertLessEqual(sum(stage.seconds for stage in made), check.SECONDS - 5)
        for stage in made:
            for step in stage.steps:
                self.assertTrue(step.command[2].exists(), step.command)

    def test_the_last_sentence_of_each_subject_is_shown(self):
        log = '{"subject": "a", "said": "first"}\nno JSON\n{"subject": "b", "said": "other"}\n{"subject": "a", "said": "second"}\n{"subject": "a", "sa'
        self.assertEqual(report.words_of({"figures": read_told(log)}), "second; other")

    def test_a_stage_that_failed_shows_the_end_of_its_log(self):
        stage = check.stages(self.folder, small=False, source=None)[2]
        ran = SimpleNamespace(state=steps.State(self.folder), stages=[stage], took={}, out=self.folder)
        log = "\n".join(["{}", *(f"line {i}" for i in range(30)), "ValueError: no such mode", '{"subject": "a", "said": "first"}'])
        ran.state.log(stage.steps[0]).write_text(log)
        for status, shown in (("failed", True), ("passed", False)):
            ran.state.note(stage.steps[0], status=status, figures=read_told(log))
            text = report.write(ran).read_text()
            self.assertEqual("line 29\nValueError: no such mode\n```" in text, shown, text)
            self.assertNotIn("line 3\n", text)

    def test_a_file_is_no_folder_of_results(self):
        file = self.folder / "file"
        file.touch()
        for out in (file, file / "below"):
            for command in ("torch", "torch-memory", "brief", "run"):
                with self.subTest(command), contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as ended:
                    command_line.parse([command, "--out", str(out)])
                self.assertEqual(ended.exception.code, 2)
                self.assertIn(f"--out {out}: {file} is a file; name a folder", said.getvalue())


if __name__ == "__main__":
    unittest.main()
