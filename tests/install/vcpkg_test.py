#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The port of vcpkg runs, on a stand-in for what it calls of vcpkg, and a program is built with what it installs.

What the port builds itself is configured alone: it would take as long as the build that is packed here.

usage: vcpkg_test.py BUILD_DIR SOURCE_DIR WORK_DIR COMPILER...
"""

import pathlib
import shutil
import sys
import unittest

import consumer

BUILD, SOURCE, WORK = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
COMPILER = [word for word in sys.argv[4:] if word]


class VcpkgTest(unittest.TestCase):
    def test_it_installs_what_a_program_finds(self):
        shutil.rmtree(WORK, ignore_errors=True)
        WORK.mkdir(parents=True)
        packages, configured, project = WORK / "packages", WORK / "configured", WORK / "project"
        compiler = [f"-DCMAKE_CXX_COMPILER={COMPILER[-1]}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={';'.join(COMPILER[:-1])}"]
        consumer.run("cmake", f"-DBUILD_DIR={BUILD}", f"-DCURRENT_PACKAGES_DIR={packages}", f"-DCONFIGURED={configured}",
                     f"-DPORTFILE={SOURCE / 'ports/tandem/portfile.cmake'}", "-P", SOURCE / "tests/install/vcpkg_stand_in.cmake", folder=WORK)
        self.assertRegex((configured / "CMakeCache.txt").read_text(), r"(?m)^TANDEM_KERNELS:\w+=x86-64-v2,x86-64-v3,x86-64-v4$")
        self.assertFalse((packages / "lib/cmake").exists() and list((packages / "lib/cmake").rglob("*.cmake")))
        consumer.write_project(project)
        consumer.run("cmake", "-S", project, "-B", WORK / "built", f"-DCMAKE_PREFIX_PATH={packages}", *compiler, folder=WORK)
        self.assertRegex((WORK / "built/CMakeCache.txt").read_text(), rf"(?m)^tandem_DIR:PATH={packages}/share/tandem$")
        consumer.run("cmake", "--build", WORK / "built", folder=WORK)
        consumer.check_answer(self, WORK / "built/why_full", WORK)
        self.assertIn("peak memory", consumer.run(packages / "bin/tandem", "train", "--devices", "cpu:2", "--steps", "2", "--model", "mlp",
                                                  "--quiet", folder=WORK))
        for name in ("usage", "copyright", "digits"):
            self.assertTrue((packages / "share/tandem" / name).exists(), name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
