#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Makes Debian's package, unpacks it in an empty root, and uses what is there: the program, find_package and pkg-config.

usage: deb_test.py BUILD_DIR SOURCE_DIR WORK_DIR COMPILER...
"""

import functools
import pathlib
import re
import shutil
import sys
import unittest

import build_folders
import consumer

BUILD, SOURCE, WORK = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
COMPILER = [word for word in sys.argv[4:] if word]
ROOT = WORK / "root"
run = functools.partial(consumer.run, folder=WORK)


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

    def test_nothing_is_outside_of_usr_and_no_file_names_the_build(self):
        self.assertEqual([path.name for path in ROOT.iterdir()], ["usr"])
        for pattern in ("**/*.cmake", "**/*.pc", "**/*.hpp", "**/completions/*"):
            found = [path for path in ROOT.glob(pattern) if path.is_file()]
            self.assertTrue(found, pattern)
            for path in found:
                text = path.read_text()
                for folder in (BUILD, SOURCE, WORK):
                    self.assertNotIn(str(folder), text, path)
        self.assertEqual(build_folders.found_in(ROOT, (BUILD, SOURCE, WORK)), [])

    def test_the_program_trains(self):
        self.assertIn("peak memory", run(self.file("usr/bin/tandem"), "train", "--devices", "cpu:2", "--steps", "2", "--model", "mlp", "--quiet"))

    def test_find_package(self):
        project = WORK / "project"
        consumer.write_project(project)
        run("cmake", "-S", project, "-B", WORK / "built", f"-DCMAKE_PREFIX_PATH={ROOT}/usr", f"-DCMAKE_CXX_COMPILER={COMPILER[-1]}",
            f"-DCMAKE_CXX_COMPILER_LAUNCHER={';'.join(COMPILER[:-1])}")
        run("cmake", "--build", WORK / "built")
        consumer.check_answer(self, WORK / "built/why_full", WORK)

    def test_pkg_config(self):
        folder = self.file("usr/lib/**/pkgconfig")
        flags = run("pkg-config", "--cflags", "--libs", "tandem-report", PKG_CONFIG_PATH=str(folder)).split()
        self.assertEqual(run("pkg-config", "--modversion", "tandem", PKG_CONFIG_PATH=str(folder)).strip(), self.package.name.split("_")[1].split("-")[0])
        run(COMPILER[-1], "-std=c++20", consumer.PROGRAM, "-o", WORK / "by_pkg_config", *flags)
        consumer.check_answer(self, WORK / "by_pkg_config", WORK)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
