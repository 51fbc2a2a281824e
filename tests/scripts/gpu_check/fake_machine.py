# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A machine with GPUs for the tests of scripts/gpu-check: tools in a folder, and a driver. No other tool is found."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import fake_tools

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = ["cmake", "ninja", "g++", "nvcc", "nvidia-smi", "compute-sanitizer"]
OF_THE_SYSTEM = ["sh", "git", "env", "cat", "uname", "timeout"]


class FakeMachine(unittest.TestCase):
    """A machine with one GPU on which all is well; tests change its settings and its environment."""

    scripts = None  # the folder with gpu-check

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="tandem-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.driver = pathlib.Path(folder.name, "libcuda.so.1")
        subprocess.run(["c++", "-shared", "-fPIC", "-std=c++20", "-o", cls.driver, HERE / "fake_driver.cpp"], check=True)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tandem-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.bin, self.library, self.out = self.folder / "bin", self.folder / "lib", self.folder / "out"
        self.bin.mkdir()
        self.library.mkdir()
        shutil.copy(self.driver, self.library)
        for name in TOOLS:
            fake_tools.write_program(self.bin / name, name)
        for name in OF_THE_SYSTEM:
            if found := shutil.which(name):
                (self.bin / name).symlink_to(found)
        self.settings = {}
        self.environment = {"PATH": str(self.bin), "LD_LIBRARY_PATH": str(self.library), "FAKE_MACHINE": str(self.folder),
                            "CUDA_PATH": "/absent", "HOME": str(self.folder)}

    def remove(self, *names):
        for name in names:
            (self.bin / name).unlink()

    def command(self, *arguments):
        """gpu-check with the arguments of a test."""
        return [self.scripts / "gpu-check", "run", "--out", self.out, *arguments]

    def start(self, *arguments):
        (self.folder / "settings.json").write_text(json.dumps(self.settings))
        return subprocess.Popen([sys.executable, "-B", *self.command(*arguments)], env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def run_check(self, *arguments, wanted=0):
        """What gpu-check says; it must end with the status `wanted`."""
        process = self.start(*arguments)
        said = process.communicate(timeout=100)[0]
        self.assertEqual(process.returncode, wanted, said)
        return said

    def report(self):
        return (self.out / "report.md").read_text()

    def steps(self):
        return json.loads((self.out / "results.json").read_text())["steps"]

    def status(self, name):
        step = self.steps()[name]
        return ": ".join(filter(None, [step["status"], step.get("reason")]))

    def calls(self, program):
        calls = [json.loads(line) for line in (self.folder / "calls.jsonl").read_text().splitlines()]
        return [call for call in calls if call["program"] == program]
