# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The scripts that complete command lines, as bash and zsh use them."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest

from program import DEADLINE, MODES, ProgramTest, main

PACKAGE = pathlib.Path(__file__).parents[2] / "python"

# What the shell's own functions would show is printed.
BASH = """{script}
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_tandem
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ZSH = """compdef() {{ }}
compadd() {{ shift; for one in "$@"; do [[ $one == ${{PREFIX}}* ]] && print -r -- "$one" && found=1; done; (( found )); }}
compset() {{ [[ $PREFIX == ${{~2}}* ]] && PREFIX=${{PREFIX##${{~2}}}}; }}
_files() {{ print FILES; }}
{script}
found=0; words=({words}); CURRENT=$#words; PREFIX=${{words[-1]}}
_tandem
"""


class CompletionTest(ProgramTest):
    shell = "bash"

    def complete(self, *words):
        """What may stand in place of the last word."""
        script = self.succeed("completion", self.shell).stdout
        form, command = (BASH, ["bash", "--norc"]) if self.shell == "bash" else (ZSH, ["zsh", "-f"])
        text = form.format(script=script, words=" ".join(shlex.quote(word) for word in ["tandem", *words]))
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertEqual(done.stderr, "")
        return sorted(done.stdout.split())

    def assert_files(self, *words):
        self.assertEqual(self.complete(*words), [] if self.shell == "bash" else ["FILES"])

    def test_commands(self):
        self.assertEqual(self.complete("tr"), ["train"])
        self.assertEqual(self.complete("cluster", "s"), ["show", "simulate", "sweep"])
        self.assertIn("run", self.complete(""))
        self.assertNotIn("completion", self.complete(""))

    def test_options(self):
        self.assertEqual(self.complete("train", "--mod"), ["--mode", "--model"])
        self.assertEqual(self.complete("train", "--quiet", "--gpu0"), ["--gpu0-bsz"])
        self.assertIn("--allreduce", self.complete("cluster", "simulate", "--a"))
        self.assertEqual(self.complete("compare", "--json", "--verif"), ["--verify"])

    def test_options_of_the_python_package(self):
        """All that its help has, which needs no extension module."""
        told = subprocess.run([sys.executable, "-B", "-m", "tandem", "run", "--help"], capture_output=True, text=True, timeout=DEADLINE, check=True,
                              env=os.environ | {"PYTHONPATH": str(PACKAGE)}).stdout
        options = re.findall(r"(?m)^  (?:-\w, )?(--[\w-]+)", told)
        self.assertGreater(len(options), 8)
        self.assertEqual(self.complete("run", "-"), sorted(options))
        self.assertEqual(self.complete("run", "--devices", "cpu:4", "--then", ""), ["continue", "end"])
        self.assert_files("run", "--memory", "")

    def test_values(self):
        self.assertEqual(self.complete("train", "--mode", ""), sorted(MODES))
        self.assertEqual(self.complete("train", "--data", "d"), ["digits"])

    def test_values_behind_a_sign_or_in_a_list(self):
        if self.shell == "bash":  # which cuts words there
            self.assertEqual(self.complete("train", "--data", "=", "d"), ["digits"])
            self.assertEqual(self.complete("train", "--data", "="), self.complete("train", "--data", ""))
            self.assertEqual(self.complete("compare", "--modes", "ddp,single,dp-cl"), ["ddp,single,dp-classic"])
        else:
            self.assertEqual(self.complete("train", "--data=d"), ["digits"])
            self.assertEqual(self.complete("compare", "--modes", "ddp,single,dp-cl"), ["dp-classic"])

    def test_files_where_nothing_else_may_come(self):
        self.assert_files("train", "--checkpoint", "")
        self.assert_files("run", "")
        self.assert_files("none", "")


@unittest.skipUnless(shutil.which("zsh"), "there is no zsh")
class ZshTest(CompletionTest):
    shell = "zsh"


if __name__ == "__main__":
    main()
