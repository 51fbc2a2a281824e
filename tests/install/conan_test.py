#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Packs a build by the recipe of Conan in an empty home, and builds a program by what Conan then knows of it.

What the recipe builds itself is configured alone: it would take as long as the build that is packed here.

usage: conan_test.py CONAN BUILD_DIR SOURCE_DIR WORK_DIR
"""

import functools
import pathlib
import shutil
import sys
import unittest

import consumer

CONAN, BUILD, SOURCE, WORK = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
run = functools.partial(consumer.run, CONAN_HOME=str(WORK / "home"))


class ConanTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(WORK, ignore_errors=True)
        (WORK / "recipe").mkdir(parents=True)
        for name in ("conanfile.py", "CMakeLists.txt", "LICENSE"):
            shutil.copy(SOURCE / name, WORK / "recipe")
        for name in ("cmake", "include", "src", "examples"):
            (WORK / "recipe" / name).symlink_to(SOURCE / name)
        shutil.copytree(consumer.STRANGER, WORK / "recipe/tests/install/stranger")
        run(CONAN, "profile", "detect", folder=WORK)

    def test_configures(self):
        run(CONAN, "install", "recipe", "-of", "recipe", folder=WORK)
        run("cmake", "--preset", "conan-release", folder=WORK / "recipe")
        cache = (WORK / "recipe/build/Release/CMakeCache.txt").read_text()
        self.assertRegex(cache, r"(?m)^TANDEM_KERNELS:\w+=x86-64-v2,x86-64-v3,x86-64-v4$")

    def test_packs_and_is_found(self):
        packed = WORK / "packed"
        shutil.copytree(WORK / "recipe", packed, symlinks=True, ignore=shutil.ignore_patterns("build"))
        (packed / "build").mkdir()
        (packed / "build/Release").symlink_to(BUILD)
        run(CONAN, "export-pkg", packed, folder=WORK)  # with the test package, which builds the stranger's program
        stranger = packed / "tests/install/stranger"
        self.assertEqual(len(list(stranger.glob("build/**/page.html"))), 1)  # which it has run
        (cache,) = stranger.glob("build/**/CMakeCache.txt")
        self.assertRegex(cache.read_text(), rf"(?m)^tandem_DIR:PATH={WORK}/home/p/.*/lib/cmake/tandem$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
