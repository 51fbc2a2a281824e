#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Packs a build by the recipe of Conan in an empty home, and builds a program by what Conan then knows of it.

What the recipe builds itself is configured, and its kernels joined: all would take as long as the build that is packed here.

usage: conan_test.py CONAN BUILD_DIR SOURCE_DIR WORK_DIR
"""

import functools
import pathlib
import shutil
import sys
import unittest

import consumer

CONAN, BUILD, SOURCE, WORK = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
COMPILE_LITTLE = """#!/usr/bin/env python3
import pathlib, subprocess, sys
*command, source = sys.argv[1:]
text = f"namespace tandem::kernels {{ void {pathlib.Path(source).stem}() {{}} }}"
sys.exit(subprocess.run([*command, "-x", "c++", "-"], input=text, text=True).returncode)
"""
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
        """And make joins kernels for three levels, which are compiled of next to nothing."""
        launcher = WORK / "compile_little"
        launcher.write_text(COMPILE_LITTLE)
        launcher.chmod(0o755)
        run(CONAN, "install", "recipe", "-of", "recipe", folder=WORK)
        run("cmake", "--preset", "conan-release", f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}", folder=WORK / "recipe")
        build = WORK / "recipe/build/Release"
        self.assertRegex((build / "CMakeCache.txt").read_text(), r"(?m)^TANDEM_KERNELS:\w+=x86-64-v2,x86-64-v3,x86-64-v4$")
        run("make", "-C", build, "tandem_join_kernels", folder=WORK)
        for level in ("v2", "v3", "v4"):
            self.assertRegex((build / "kernels/entries.cpp").read_text(), rf"softmax.*\.x86_64_{level}\b")

    def test_packs_and_is_found(self):
        packed = WORK / "packed"
        shutil.copytree(WORK / "recipe", packed, symlinks=True, ignore=shutil.ignore_patterns("build"))
        (packed / "build").mkdir()
        (packed / "build/Release").symlink_to(BUILD)
        run(CONAN, "export-pkg", packed, folder=WORK)  # with the test package, which builds the stranger's program
        self.assertEqual({path.name for path in (packed / "tests/install/stranger").iterdir()}, {path.name for path in consumer.STRANGER.iterdir()})
        stranger = packed / "build/stranger"
        self.assertEqual(len(list(stranger.glob("**/page.html"))), 1)  # which it has run
        (cache,) = stranger.glob("**/CMakeCache.txt")
        self.assertRegex(cache.read_text(), rf"(?m)^tandem_DIR:PATH={WORK}/home/p/.*/lib/cmake/tandem$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
