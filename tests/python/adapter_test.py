# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What python -m tandem adapter says where it cannot build. That it builds is seen when the published wheel is made (scripts/wheel)."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest


class AdapterTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def tool(self, name, text="exit 1"):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def pytorch(self, version):
        """PYTHONPATH in which a PyTorch of this version comes first."""
        (self.folder / "torch").mkdir()
        (self.folder / "torch" / "__init__.py").touch()
        (self.folder / "torch" / "version.py").write_text(version)
        return os.pathsep.join([str(self.folder), os.environ["PYTHONPATH"]])

    def said(self, **environment):
        """What it says before it ends with 1, where the folder has all programs that there are."""
        done = subprocess.run([sys.executable, "-B", "-m", "tandem", "adapter", "--build", self.folder / "build"], capture_output=True, text=True,
                              check=False, env=os.environ | {"PATH": str(self.folder)} | environment)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr

    def test_without_a_compiler(self):
        self.assertIn("tandem adapter: there is no C++ compiler (c++, or $CXX); install g++ 12 or later", self.said())

    def test_without_cmake(self):
        self.tool("c++")
        self.assertIn("tandem adapter: there is no cmake: pip install cmake", self.said())

    def test_without_pytorch(self):
        of_others = os.environ["PYTHONPATH"].split(os.pathsep)
        without = os.pathsep.join(folder for folder in of_others if not pathlib.Path(folder, "torch").exists())
        self.assertIn("tandem adapter: there is no PyTorch", self.said(PYTHONPATH=without))

    def test_with_an_old_pytorch(self):
        said = self.said(PYTHONPATH=self.pytorch("__version__ = '2.7.1+cpu'"))
        self.assertEqual(said, "tandem adapter: this is PyTorch 2.7.1+cpu, which is older than those that tandem is for, PyTorch 2.8 to 2.15: "
                               "pip install 'torch==2.15.*'\n")

    def test_with_a_pytorch_of_no_version(self):
        self.assertIn("torch/version.py does not tell which PyTorch this is", self.said(PYTHONPATH=self.pytorch("")))

    def test_with_a_pytorch_that_is_too_new(self):
        self.tool("c++")
        self.tool("cmake", "echo 'error: no such function' >&2; exit 1")
        said = self.said(PYTHONPATH=self.pytorch("__version__ = '98.7.6'"))
        self.assertIn("this is PyTorch 98.7.6, which is newer than those that this tandem knows, PyTorch 2.8 to 2.15; take one of those", said)
        self.assertIn("error: no such function", said)
        self.assertNotIn("tandem-dp", said)  # which no index has

    def test_what_the_compiler_says_is_told(self):
        self.tool("c++")
        self.tool("cmake", "echo 'fatal error: no such header' >&2; exit 2")
        said = self.said()
        self.assertIn("fatal error: no such header", said)
        self.assertIn(" failed", said)

    def test_what_is_missing_for_cmake_is_told(self):
        self.tool("c++")
        self.tool("cmake", "echo 'Could not find a package configuration file provided by \"nanobind\"' >&2; exit 1")
        self.assertIn("failed: pip install nanobind", self.said())


if __name__ == "__main__":
    unittest.main()
