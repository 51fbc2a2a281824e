# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Importing the package: without PyTorch, and with one that it was not built for."""

import inspect
import json
import os
import pathlib
import platform
import pydoc
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import torch

import tandem
import tandem.parallel
from tandem._torch_versions import OLDEST

PACKAGE = pathlib.Path(tandem.__file__).parent
ADAPTERS = PACKAGE / "adapters" / tandem.__version__
ASKING = "import tandem\ntry: tandem.DataParallel\nexcept ImportError as error: print(error)"

MADE_BY_FUNCTIONS = ("Explanation", "LargestBatch", "Memory", "MemoryStats", "StepPlan", "Tensor")


class ImportTest(unittest.TestCase):
    def run_with(self, torch, program, packages=PACKAGE.parent):
        """What `program` prints where PyTorch is a module with the text `torch`; None: there is none."""
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "torch.py").write_text(torch or "raise ModuleNotFoundError('torch')")
            path = [folder, str(packages)]
            done = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, check=False,
                                  env=os.environ | {"PYTHONPATH": os.pathsep.join(path)})
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

    def test_devices_need_no_torch(self):
        program = ("import sys, tandem\nprint(tandem.configure_devices('cpu:2@1MiB'), tandem.limit('cpu:1'))\n"
                   "print('torch' in sys.modules)")
        self.assertEqual(self.run_with(None, program), "['cpu:0', 'cpu:1'] 1048576\nFalse\n")

    def test_what_is_missing_is_said(self):
        known = sorted((path.name for path in ADAPTERS.iterdir()), key=lambda version: [int(part) for part in version.split(".")])
        self.assertIn(f"pip install 'torch=={known[-1]}.*'", self.run_with(None, ASKING))
        old = self.run_with("__version__ = '2.7.1+cpu'", ASKING)
        self.assertIn("this is PyTorch 2.7.1+cpu, which is older than those that tandem is for, PyTorch 2.8 to 2.15: pip install 'torch==", old)
        other = self.run_with("__version__ = '98.7.6+cpu'", ASKING)
        self.assertIn(f"this is PyTorch 98.7.6+cpu, and the package has adapters for PyTorch {', '.join(known)}", other)
        self.assertIn("build one for PyTorch 98.7, which takes some minutes and a C++20 compiler: python -m tandem adapter (tandem knows PyTorch 2.8 to 2.15)",
                      other)

    def test_the_compiler_takes_what_the_import_takes(self):
        settings = (PACKAGE / "adapters" / "sources" / "cmake" / "TandemTorchVersion.cmake").read_text()
        self.assertIn(f"set(TANDEM_TORCH_VERSION {OLDEST})", settings)

    def test_commands_for_programs_of_torch_name_what_is_missing(self):
        def run(*words):  # without the packages of this Python, of which torch may be one
            return subprocess.run([sys.executable, "-B", "-S", "-m", "tandem", *words], capture_output=True, text=True, check=False,
                                  env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)})
        for words in (("run", "--devices", "cpu:4", "train.py"), ("memory", "train.py"), ("memory", "-m", "train")):
            done = run(*words)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertEqual(done.stderr, f"tandem: {words[0]}: this is about programs of PyTorch, which is not installed: pip install torch\n")
        self.assertEqual(run("run", "--help").returncode, 0)
        for words in (("memory", "gpus.pickle"), ("explain", "trace.json.gz")):  # files are read without it
            self.assertEqual(run(*words).stderr, f"tandem: {words[0]}: cannot read {words[1]}: No such file or directory\n")

    def test_a_command_ends_with_the_sentence_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "train.py")
            program.touch()
            pathlib.Path(folder, "sitecustomize.py").write_text("import torch\ntorch.__version__ = '98.7.6'\n")
            environment = os.environ | {"PYTHONPATH": os.pathsep.join([folder, os.environ["PYTHONPATH"]])}
            for options in (["--replace="], ["--devices", "cpu:2"]):
                done = subprocess.run([sys.executable, "-B", "-m", "tandem", "run", *options, program], capture_output=True, text=True,
                                      check=False, env=environment)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, r"\Atandem: this is PyTorch 98.7.6, and the package has adapters .*\n\Z")

    def test_an_adapter_of_another_tandem_is_not_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder, "tandem")
            shutil.copytree(PACKAGE, package, symlinks=True, ignore=shutil.ignore_patterns("adapters"))  # which may be a link to another package's
            shutil.copytree(ADAPTERS, package / "adapters" / "0.0.1")
            said = self.run_with("__version__ = '2.15.0'", ASKING, folder)
        self.assertIn("the package has no adapter for any PyTorch: build one for PyTorch 2.15", said)

    def test_an_old_processor_is_named(self):
        program = """
import importlib, tandem
def refuse(name):
    raise ImportError("libtandem.so: CPU ISA level is lower than required")
tandem.importlib = type("Loader", (), {"import_module": staticmethod(refuse)})
try: tandem.memory_stats
except ImportError as error: print(error)
"""
        said = self.run_with(None, program)
        self.assertIn("tandem: this processor has not all instructions of x86-64-v2", said)
        self.assertNotIn("tandem-dp", said)  # which no index has

    def test_the_face_of_the_package(self):
        program = "import tandem\nprint(tandem.__version__, *(name for name in dir(tandem) if not name.startswith('_')))"
        version, *names = self.run_with(None, program).split()
        self.assertRegex(version, r"^\d+\.\d+\.\d+$")
        self.assertEqual(names, sorted(tandem.__all__))
        self.assertEqual([name for name in dir(tandem) if re.match("_[^_]", name)], [])

    def test_every_function_tells_its_parameters_and_takes_them_by_name(self):
        by_place = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL}
        for package in (tandem, tandem.parallel):
            for name in package.__all__:
                member = getattr(package, name)
                if inspect.isclass(member) and (name in MADE_BY_FUNCTIONS or issubclass(member, Exception)):
                    continue
                with self.subTest(name):
                    self.assertFalse(by_place & {parameter.kind for parameter in inspect.signature(member).parameters.values()})
        self.assertEqual(str(inspect.signature(tandem.from_dlpack)), "(x: 'object', device: 'str' = 'cpu:0') -> 'tandem._core.Tensor'")
        self.assertEqual(list(inspect.signature(tandem.DeviceNeed).parameters), ["device", "fixed", "per_row", "per_batch_row", "limit"])
        self.assertEqual(tandem.chunk_sizes(rows=9, gpu0_bsz=3, devices=["cpu:0", "cpu:1"]), [3, 6])
        self.assertIn("How many of a batch's rows", tandem.chunk_sizes.__doc__)

    def test_the_doctor_looks_at_the_python_that_calls_it(self):
        with tempfile.TemporaryDirectory() as folder:
            other = pathlib.Path(folder, "python3")
            other.write_text("#!/bin/sh\nexit 1\n")
            other.chmod(0o755)
            done = subprocess.run([sys.executable, "-B", "-m", "tandem", "doctor", "--json"], capture_output=True, text=True, check=False,
                                  env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"})
        self.assertEqual(json.loads(done.stdout)["python"]["version"], platform.python_version())

    def test_a_signature_has_all_options(self):
        with self.assertRaisesRegex(tandem.InvalidArgument, "no option 'nonsense'; there are ") as refused:
            tandem.DataParallel(torch.nn.Linear(2, 2), devices="cpu:1", nonsense=1)
        known = set(re.findall(r"'(\w+)'", str(refused.exception))) - {"nonsense", "devices", "output_device", "dim"}
        self.assertIn("gpu0_bsz", known)
        told = re.findall(r"^    (\w+) +\S", tandem.data_parallel.WrapperOptions.__doc__, re.MULTILINE)
        self.assertEqual(sorted(told), sorted(known))
        for function, others in (
            (tandem.DataParallel, "module device_ids output_device dim devices"),
            (tandem.BalancedDataParallel, "module device_ids output_device dim devices"),
            (tandem.replace_data_parallel, "output_device devices"),
        ):
            with self.subTest(function.__name__):
                parameters = inspect.signature(function).parameters
                self.assertEqual(set(parameters), {*known, *others.split()})
                self.assertNotIn(inspect.Parameter.VAR_KEYWORD, {parameter.kind for parameter in parameters.values()})
                self.assertIn("straggler_ratio: 'float | None' = None", pydoc.render_doc(function, renderer=pydoc.plaintext))
        self.assertEqual(inspect.signature(tandem.compare).parameters["lr"].default, 0.01)

    def test_an_unknown_name_is_an_attribute_error(self):
        with self.assertRaisesRegex(AttributeError, "no attribute 'DataParalel'"):
            tandem.DataParalel


if __name__ == "__main__":
    unittest.main()
