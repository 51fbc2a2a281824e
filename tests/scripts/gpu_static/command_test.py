#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Runs scripts/gpu-static with a cmake and tools that only pretend: what it says, writes and ends with.

usage: command_test.py FOLDER-OF-SCRIPTS
"""

import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(sys.argv.pop(1)).resolve()
HERE = pathlib.Path(__file__).resolve().parent
OF_THE_SYSTEM = ["sh", "cat", "cp", "env", "grep", "mkdir", "c++filt"]

# It has one .cu, and its object when it is built. Each call adds its arguments to a file.
CMAKE = """\
echo "$@" >> {folder}/calls
if [ "$1" = --preset ]; then
  mkdir -p {folder}/build
  echo '[{{"file": "/src/samples.cu", "command": "nvcc -c /src/samples.cu -o samples.cu.o"}},
         {{"file": "/src/other.cpp", "command": "g++ -c /src/other.cpp -o other.o"}}]' > {folder}/build/compile_commands.json
else
  [ ! -e {folder}/fails ] || exit 1
  cp {here}/samples.ptxas {folder}/build/samples.cu.o.ptxas
  cp {here}/samples.ptxas {folder}/build/samples.cu.o
fi
"""
LIMITS = '[[class]]\nname = "rest"\nkernels = ["*"]\nstack = {stack}\n'


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tandem-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for name in OF_THE_SYSTEM:
            (self.bin / name).symlink_to(shutil.which(name))
        self.program("cmake", CMAKE.format(folder=self.folder, here=HERE))
        self.program("nvcc", "exit 1")
        self.limits(256)

    def program(self, name, text):
        (self.bin / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.bin / name).chmod(0o755)

    def with_sass(self):
        self.program("cuobjdump", f"cat {HERE}/samples.sass")
        self.program("nvdisasm", "exit 1")

    def limits(self, stack):
        (self.folder / "limits.toml").write_text(LIMITS.format(stack=stack))

    def run_static(self, *arguments, wanted=0):
        """(stdout, stderr) of a call that ends with the status `wanted`."""
        done = subprocess.run(
            [sys.executable, "-B", SCRIPTS / "gpu-static", "--build", self.folder / "build", "--limits", self.folder / "limits.toml",
             *arguments], capture_output=True, text=True, timeout=50, check=False,
            env={"PATH": str(self.bin), "CUDA_PATH": "/absent", "HOME": str(self.folder)})
        self.assertEqual(done.returncode, wanted, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def test_help_names_the_options(self):
        said = self.run_static("--help")[0]
        for option in ("--arch", "--kernels", "--limits", "--build", "--jobs", "--quiet", "--markdown", "--json"):
            self.assertIn(option, said)

    def test_without_nvcc_nothing_is_done(self):
        (self.bin / "nvcc").unlink()
        self.assertIn("there is no nvcc", self.run_static(wanted=77)[1])
        self.assertFalse((self.folder / "calls").exists())

    def test_wrong_calls(self):
        for arguments, text in [(["--arch", "new"], "'new'"), (["--jobs", "0"], "'0'"), (["--json", "-", "--markdown", "-"], "not allowed"),
                                (["--limits", "/absent"], "/absent: cannot be read (No such file or directory)"), (["--kernels", "*nothing*"], "no kernel matches '*nothing*'")]:
            self.assertIn(text, self.run_static(*arguments, wanted=2)[1])

    def test_an_architecture_that_nvcc_does_not_know(self):
        self.program("nvcc", "echo compute_80; echo compute_90")
        self.assertIn("does not compile for 12; it does for 80, 90", self.run_static("--arch", "80,12", wanted=2)[1])
        self.assertFalse((self.folder / "calls").exists())
        self.run_static("--arch", "80,90")

    def test_two_calls_do_not_share_a_folder(self):
        (self.folder / "build").mkdir()
        with open(self.folder / "build" / "gpu-static.lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.assertIn("another gpu-static works in", self.run_static(wanted=1)[1])
        self.run_static()

    def test_what_is_built(self):
        self.run_static("--arch", "80,sm_90", "--jobs", "3")
        configured, built = (self.folder / "calls").read_text().splitlines()
        self.assertIn("--preset cuda", configured)
        self.assertIn("-DCMAKE_CUDA_ARCHITECTURES=80-real;90-real", configured)
        self.assertIn(f"-DCMAKE_CUDA_COMPILER_LAUNCHER={SCRIPTS}/gpu_static/keep_ptxas", configured)
        self.assertEqual(built, f"--build {self.folder.resolve()}/build --parallel 3 --target samples.cu.o")

    def test_files_that_cannot_match_are_not_built(self):
        self.assertIn("no kernel matches", self.run_static("--kernels", "reduce: *", wanted=2)[1])
        self.assertEqual(len((self.folder / "calls").read_text().splitlines()), 1)

    def test_a_build_that_fails(self):
        (self.folder / "fails").touch()
        self.assertIn("cmake --build has failed", self.run_static(wanted=1)[1])

    def test_without_cuobjdump_its_columns_are_absent(self):
        out, err = self.run_static("--arch", "80")
        self.assertIn("there is no cuobjdump or no nvdisasm", err)
        self.assertRegex(out, r"samples  lookup +1 +10 +256 +0 +0\n")
        self.assertNotIn("A100", out)

    def test_with_cuobjdump(self):
        self.with_sass()
        out, err = self.run_static("--arch", "80")
        self.assertRegex(out, r"samples  copy +1 +10 +0 +0 +0 +4 +16 +4 ")
        self.assertIn("A100", out)
        self.assertNotIn("cuobjdump", err)

    def test_a_limit_that_is_exceeded(self):
        self.limits(0)
        out, err = self.run_static("--arch", "80", "--quiet", wanted=1)
        self.assertIn("sm_80: samples: lookup: stack 256, but at most 0 for the class 'rest'", err)
        self.assertIn("limits exceeded: 1", err)
        self.assertEqual(out, "")

    def test_kernels_are_chosen_by_a_pattern(self):
        self.limits(0)
        out, _ = self.run_static("--arch", "80", "--kernels", "samples: each*")
        self.assertIn("each<Halve>  ", out)
        self.assertNotIn("lookup", out)

    def test_json(self):
        self.with_sass()
        self.limits(0)
        figures = json.loads(self.run_static("--arch", "80", "--json", "-", wanted=1)[0])
        self.assertEqual((figures["architectures"], figures["sass"], len(figures["kernels"])), ([80], True, 6))
        self.assertEqual([e["kernel"] for e in figures["exceeded"]], ["samples: lookup"])
        self.assertEqual({k["name"]: k["stack"] for k in figures["kernels"]}["lookup"], 256)
        self.run_static("--arch", "80", "--json", str(self.folder / "figures.json"), wanted=1)
        self.assertEqual(json.loads((self.folder / "figures.json").read_text()), figures)

    def test_tables_of_a_document(self):
        self.with_sass()
        document = self.folder / "tables.md"
        for _ in range(2):
            self.run_static("--arch", "80", "--markdown", str(document))
            text = document.read_text()
            self.assertIn("\n| samples | `each<Halve>` | 2 | 8 | 0 | 0 | 0 | 4–8 | 4–8 | 4–8 | 15 | 0–1 | 0 |", text)
            self.assertIn("\n| rest | sm_80 | 6 | 8–23 |", text)
            self.assertEqual((text.count("# What GPU kernels need"), text[-2:]), (1, "|\n"))
        self.limits(0)
        self.assertIn("limits exceeded: 1", self.run_static("--arch", "80", "--markdown", "-", wanted=1)[1])

    def test_what_ptxas_says_is_kept_and_what_others_say_is_shown(self):
        self.program("compiler", "cat $SAID >&2; exit 3")
        said = self.folder / "said"
        said.write_text((HERE / "samples.ptxas").read_text() + "a.cu(1): warning: something\n")
        done = subprocess.run([SCRIPTS / "gpu_static" / "keep_ptxas", self.bin / "compiler", "-c", "a.cu", "-o", self.folder / "a.o"],
                              capture_output=True, text=True, check=False, env={**os.environ, "SAID": str(said)})
        self.assertEqual((done.returncode, done.stderr), (3, "a.cu(1): warning: something\n"))
        self.assertEqual((self.folder / "a.o.ptxas").read_text(), said.read_text())


if __name__ == "__main__":
    unittest.main()
