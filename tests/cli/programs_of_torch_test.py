# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Commands about programs of PyTorch are handed to the Python package."""

import os
import stat

from program import ProgramTest, main


class ProgramsOfTorchTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.python = self.file("python3")
        with open(self.python, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nshift 2\necho \"$@\"\nexit 7\n")  # without -c and its text
        os.chmod(self.python, stat.S_IRWXU)

    def test_the_package_gets_the_words(self):
        for words in (["memory", "--step", "2", "train.py", "--lr", "0.1"], ["memory", "-m", "train"], ["memory", "a.pickle", "b.pickle"],
                      ["run", "--memory", "train.py"], ["stand_in", "train.py"], ["explain", "trace.json", "--report", "a.html"]):
            done = self.run_program(*words, PATH=self.directory)
            self.assertEqual((done.returncode, done.stdout), (7, " ".join(words) + "\n"))
            self.assertEqual(done.stderr, f"tandem: {words[0]} of a program of PyTorch: python3 -m tandem takes over\n")

    def test_tandems_own_models_stay_here(self):
        done = self.run_program("memory", "--model", "none", PATH=self.directory)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("tandem memory train.py", self.succeed("memory", "--help", PATH=self.directory).stdout)

    def test_without_python(self):
        os.remove(self.python)
        done = self.run_program("memory", "train.py", PATH=self.directory)
        self.assertEqual(done.returncode, 1)
        self.assertIn("tandem: memory: cannot start python3, which does this: No such file or directory; install Python 3.11", done.stderr)

    def test_without_the_package(self):
        done = self.run_program("run", "train.py", PYTHONPATH="", PYTHONNOUSERSITE="1")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "has no package tandem, which does this: build it by|cannot start python3")


if __name__ == "__main__":
    main()
