# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The program that the tests of packages build: it asks why its first device is full."""

import os
import pathlib
import shutil
import subprocess

DEADLINE = 300  # seconds of one command
STRANGER = pathlib.Path(__file__).parent / "stranger"
PROGRAM = STRANGER / "why_full.cpp"


def run(*command, folder, **variables):
    """What a command prints, which must succeed; no setting of tandem's is left in its environment."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("TANDEM_")}
    done = subprocess.run([str(word) for word in command], cwd=folder, env=own | variables, capture_output=True, text=True, timeout=DEADLINE,
                          check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def write_project(folder):
    """A project of CMake that builds the program, in a new folder."""
    shutil.copytree(STRANGER, folder, ignore=shutil.ignore_patterns("conanfile.py"))


def check_answer(test, program, folder):
    """The program prints the answer, and writes the page."""
    page = folder / "page.html"
    test.assertIn("imbalance", run(program, page, folder=folder))
    test.assertTrue(page.read_text().startswith("<!DOCTYPE html>"))
