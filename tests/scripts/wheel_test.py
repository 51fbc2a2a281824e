# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""For which PyTorch scripts/wheel makes adapters; nothing is built. That it builds is seen by python.package. wheel_test.py FOLDER-OF-SCRIPTS"""

import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

SCRIPTS = pathlib.Path(sys.argv.pop(1)).resolve()
loader = importlib.machinery.SourceFileLoader("wheel", str(SCRIPTS / "wheel"))
wheel = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(wheel)


class Torches(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def torch(self, name, module=None):
        folder = self.folder / name
        (folder / "torch").mkdir(parents=True)
        (folder / "torch" / (module or wheel.module_of(folder).name)).touch()
        return folder

    def chosen(self, *given):
        with mock.patch.object(wheel, "TORCHES", [self.folder / name for name in ("torch", "torch-2.11", "torch-2.8")]):
            return wheel.chosen(list(given))

    def test_all_that_setup_has_installed_for_this_python_the_newest_first(self):
        self.assertEqual(self.chosen(), [])
        oldest, newest = self.torch("torch-2.8"), self.torch("torch")
        self.torch("torch-2.11", "_C.cpython-39-x86_64-linux-gnu.so")
        self.assertEqual(self.chosen(), [newest, oldest])

    def test_those_that_are_named_as_they_are_named(self):
        self.torch("torch")
        own, other = self.torch("own"), self.torch("other")
        self.assertEqual(self.chosen(own, other), [own, other])

    def test_one_of_another_python_is_refused(self):
        other = self.torch("other", "_C.cpython-39-x86_64-linux-gnu.so")
        for folder in (other, self.folder / "nowhere"):
            with self.assertRaises(RuntimeError) as caught:
                self.chosen(folder)
            for part in (f"--torch {folder}: there is no PyTorch for this Python", str(wheel.module_of(folder)), f"-m pip install --target {folder} torch"):
                self.assertIn(part, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
