#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Makes Debian's package, unpacks it in an empty root, and uses what is there: the program, find_package and pkg-config.

usage: deb_test.py BUILD_DIR SOURCE_DIR WORK_DIR COMPILER...
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

DEADLINE = 300  # seconds of one command
BUILD, SOURCE, WORK = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
COMPILER = [word for word in sys.argv[4:] if word]
ROOT = WORK / "root"
OWN = {name: value for name, value in os.environ.items() if not name.startswith("TANDEM_")}


def run(*command, **environment):
    """What a command prints, which must succeed."""
    done = subprocess.run([str(word) for word in command], cwd=WORK, capture_output=True, text=True, timeout=DEADLINE, check=False,
                          env={**OWN, **environment})
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


class DebTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(WORK, ignore_errors=True)
        WORK.mkdir(parents=True)
        run("cpack", "--config", BUILD / "CPackConfig.cmake", "-G", "DEB", "-B", WORK / "packed")
        (cls.package,) = (WORK / "packed").glob("*.deb")
        run("dpkg-deb", "-x", cls.package, ROOT)

    def file(self, name):
        (found,) = ROOT.glob(name)
        return found

    def test_its_name_and_what_it_needs(self):
        self.assertRegex(self.package.name, r"^tandem-dev_\d+\.\d+\.\d+_[a-z0-9]+\.deb$")
        needs = re.sub(r"\s*\([^)]*\)", "", run("dpkg-deb", "-f", self.package, "Depends")).strip().split(", ")
        for library in ("libopenblas-pthread-dev", "zlib1g-dev", "libfmt-dev", "libc6"):  # each is here, since tandem was built with it
            self.assertIn(library, needs)
            self.assertIn("install ok installed", run("dpkg-query", "-W", "-f", "${Status}", library))

    def test_nothing_is_outside_of_usr_and_no_text_names_the_build(self):
        self.assertEqual([path.name for path in ROOT.iterdir()], ["usr"])
        for pattern in ("**/*.cmake", "**/*.pc", "**/*.hpp", "**/completions/*"):
            found = [path for path in ROOT.glob(pattern) if path.is_file()]
            self.assertTrue(found, pattern)
            for path in found:
                text = path.read_text()
                for folder in (BUILD, SOURCE, WORK):
                    self.assertNotIn(str(folder), text, path)

    def test_the_program_trains(self):
        self.assertIn("peak memory", run(self.file("usr/bin/tandem"), "train", "--devices", "cpu:2", "--steps", "2", "--model", "mlp", "--quiet"))

    def answers(self, program):
        page = WORK / "page.html"
        self.assertIn("imbalance", run(program, page))
        self.assertTrue(page.read_text().startswith("<!DOCTYPE html>"))

    def test_find_package(self):
        project = WORK / "project"
        project.mkdir()
        shutil.copy(SOURCE / "tests/consumer/why_full.cpp", project)
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\nfind_package(tandem REQUIRED COMPONENTS report)\n"
            "add_executable(why_full why_full.cpp)\ntarget_link_libraries(why_full PRIVATE tandem::report)\n")
        run("cmake", "-S", project, "-B", WORK / "built", f"-DCMAKE_PREFIX_PATH={ROOT}/usr", f"-DCMAKE_CXX_COMPILER={COMPILER[-1]}",
            f"-DCMAKE_CXX_COMPILER_LAUNCHER={';'.join(COMPILER[:-1])}")
        run("cmake", "--build", WORK / "built")
        self.answers(WORK / "built/why_full")

    def test_pkg_config(self):
        folder = self.file("usr/lib/**/pkgconfig")
        flags = run("pkg-config", "--cflags", "--libs", "tandem-report", PKG_CONFIG_PATH=str(folder)).split()
        self.assertEqual(run("pkg-config", "--modversion", "tandem", PKG_CONFIG_PATH=str(folder)).strip(), self.package.name.split("_")[1].split("-")[0])
        run(COMPILER[-1], "-std=c++20", SOURCE / "tests/consumer/why_full.cpp", "-o", WORK / "by_pkg_config", *flags)
        self.answers(WORK / "by_pkg_config")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
