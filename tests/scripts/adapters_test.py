# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What scripts/adapters says of each version, and what it leaves; nothing is fetched or built. adapters_test.py FOLDER-OF-SCRIPTS"""

import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

SCRIPTS = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SCRIPTS))
loader = importlib.machinery.SourceFileLoader("adapters", str(SCRIPTS / "adapters"))
adapters = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(adapters)


class Adapters(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.package = self.folder / "package" / "tandem"
        self.package.mkdir(parents=True)
        (self.package / "_core.cpython-311.so").touch()
        self.ran = []

    def fetch(self, arguments):
        pathlib.Path(arguments[0]).mkdir(parents=True, exist_ok=True)
        return 0

    def run_it(self, *versions, run=None):
        """(status, lines)"""
        arguments = [str(self.folder), "--package", str(self.package), *(word for version in versions for word in ("--torch", version))]
        with (mock.patch.object(adapters.light_torch, "main", self.fetch), contextlib.redirect_stdout(io.StringIO()) as said,
              mock.patch.object(adapters, "run", run or (lambda packages, *command: self.ran.append((packages, command))))):
            status = adapters.main(arguments)
        return status, said.getvalue().splitlines()

    def test_each_version_is_built_and_trains_and_goes(self):
        status, lines = self.run_it("2.9.1", "2.10.0")
        self.assertEqual(status, 0, lines)
        self.assertRegex(lines[0], r"adapters: PyTorch 2.9.1: built in \d+ s, and trains as one device does")
        self.assertEqual([packages[1].name for packages, _ in self.ran], ["torch-2.9", "torch-2.9", "torch-2.10", "torch-2.10"])
        self.assertEqual(list(self.folder.glob("torch-*")), [])

    def test_a_file_is_no_folder(self):
        self.folder = self.folder / "file"
        self.folder.touch()
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as ended:
            self.run_it("2.9.1")
        self.assertEqual(ended.exception.code, 2)
        self.assertIn(f"{self.folder} is a file; name a folder", said.getvalue())

    def test_a_failure_that_nobody_expects_is_named_and_the_next_has_its_turn(self):
        def fetch(arguments):
            if arguments[1] == "2.9.1":
                raise OSError("no space left")
            return fetched(arguments)

        fetched = self.fetch
        with mock.patch.object(self, "fetch", fetch):
            status, lines = self.run_it("2.9.1", "2.10.0")
        self.assertEqual((status, lines[0]), (1, "adapters: PyTorch 2.9.1: failed: OSError: no space left"))
        self.assertIn("adapters: PyTorch 2.10.0: built", lines[1])

    def test_what_was_there_stays(self):
        (self.folder / "torch-2.8").mkdir()
        self.run_it("2.8.0")
        self.assertTrue((self.folder / "torch-2.8").exists())

    def test_one_that_fails_is_named_and_the_next_has_its_turn(self):
        def fails_for_the_first(packages, *command):
            if packages[1].name == "torch-2.9":
                raise RuntimeError("error: no such function")

        status, lines = self.run_it("2.9.1", "2.10.0", run=fails_for_the_first)
        self.assertEqual(status, 1)
        self.assertEqual(lines[0], "adapters: PyTorch 2.9.1: failed: error: no such function")
        self.assertIn("PyTorch 2.10.0: built", lines[1])

    def test_what_a_command_says_is_told(self):
        with self.assertRaisesRegex(RuntimeError, "it is not there"):
            adapters.run([], "-c", "raise SystemExit('it is not there')")

    def test_all_that_are_known_have_a_turn(self):
        oldest, newest = (".".join(version.split(".")[:2]) for version in (adapters.VERSIONS[0], adapters.VERSIONS[-1]))
        known = (SCRIPTS.parent / "python" / "tandem" / "_torch_versions.py").read_text()
        self.assertIn(f'OLDEST, NEWEST = "{oldest}", "{newest}"', known)

    def test_without_a_package_the_target_is_named(self):
        with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(io.StringIO()) as said:
            adapters.main([str(self.folder), "--package", str(self.folder)])
        self.assertEqual(ended.exception.code, 2)
        self.assertIn("is no built package of tandem; build the target tandem_python", said.getvalue())


if __name__ == "__main__":
    unittest.main()
