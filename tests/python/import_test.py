# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Importing the package: without PyTorch, and with one that it was not built for."""

import inspect
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tandem


class ImportTest(unittest.TestCase):
    def run_with(self, torch, program):
        """What `program` prints where PyTorch is a module with the text `torch`; None: there is none."""
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "torch.py").write_text(torch or "raise ModuleNotFoundError('torch')")
            path = [folder, str(pathlib.Path(tandem.__file__).parent.parent)]
            done = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, check=False,
                                  env=os.environ | {"PYTHONPATH": os.pathsep.join(path)})
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

    def test_devices_need_no_torch(self):
        program = ("import sys, tandem\nprint(tandem.configure_devices('cpu:2@1MiB'), tandem.limit('cpu:1'))\n"
                   "print('torch' in sys.modules)")
        self.assertEqual(self.run_with(None, program), "['cpu:0', 'cpu:1'] 1048576\nFalse\n")

    def test_what_is_missing_is_said(self):
        program = "import tandem\ntry: tandem.DataParallel\nexcept ImportError as error: print(error)"
        wanted = ".".join(tandem._core.torch_version.split(".")[:2])
        self.assertIn(f"pip install 'torch=={wanted}.*'", self.run_with(None, program))
        other = self.run_with("__version__ = '1.2.3'", program)
        self.assertIn(f"built for PyTorch {wanted}, and this is 1.2.3", other)

    def test_the_face_of_the_package(self):
        program = "import tandem\nprint(tandem.__version__, *(name for name in dir(tandem) if not name.startswith('_')))"
        version, *names = self.run_with(None, program).split()
        self.assertRegex(version, r"^\d+\.\d+\.\d+$")
        self.assertEqual(names, sorted(tandem.__all__))
        options = inspect.signature(tandem.DataParallel).parameters
        for name in ("gpu0_bsz", "mode", "deadline"):
            self.assertIn(name, options)

    def test_an_unknown_name_is_an_attribute_error(self):
        with self.assertRaisesRegex(AttributeError, "no attribute 'DataParalel'"):
            tandem.DataParalel


if __name__ == "__main__":
    unittest.main()
