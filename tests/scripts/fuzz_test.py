# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Tests the arguments of scripts/fuzz, and that each target has its files; nothing is fuzzed here."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))


def run(*arguments, **extra):
    return subprocess.run([ROOT / "scripts" / "fuzz", *arguments], capture_output=True, text=True, timeout=50,
                          env={**os.environ, **extra}, check=False)


class FuzzTest(unittest.TestCase):
    def test_help_names_the_options(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        for option in ("--executions", "--seconds", "--jobs"):
            self.assertIn(option, done.stdout)

    def test_refuses_what_it_does_not_know(self):
        for arguments, text in ((["--seconds", "0"], "--seconds '0'"), (["--jobs"], "--jobs ''"),
                                (["--fast"], "'--fast'"), (["toml"], "'toml'")):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(text, done.stderr)

    def test_says_so_where_there_is_no_clang(self):
        with tempfile.TemporaryDirectory(prefix="tandem-test-") as folder:
            for tool in ("bash", "dirname", "nproc"):
                path = next(p for d in ("/usr/bin", "/bin") if (p := pathlib.Path(d, tool)).exists())
                os.symlink(path, pathlib.Path(folder, tool))
            done = run(PATH=folder)
        self.assertEqual(done.returncode, 77, done.stdout + done.stderr)
        self.assertIn("no clang with libFuzzer", done.stdout)

    def test_every_target_is_built_and_has_a_corpus(self):
        folder = ROOT / "tests" / "fuzz"
        listed = re.search(r"set\(targets ([^)]*)\)", (folder / "CMakeLists.txt").read_text()).group(1).split()
        self.assertEqual(sorted(listed), sorted(p.name.removesuffix("_fuzz.cpp") for p in folder.glob("*_fuzz.cpp")))
        for target in listed:
            self.assertTrue(list((folder / "corpus" / target).iterdir()), target)


if __name__ == "__main__":
    unittest.main()
