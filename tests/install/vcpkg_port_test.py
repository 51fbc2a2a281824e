#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The port of vcpkg agrees with the project.

usage: vcpkg_port_test.py SOURCE_DIR
"""

import json
import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
PORT = SOURCE / "ports/tandem"
# By what CMake finds: the port that brings it, or the package of Debian that the file usage names.
PORTS = {"CLI11": "cli11", "ZLIB": "zlib", "nlohmann_json": "nlohmann-json", "fmt": "fmt", "xxhash.h": "xxhash"}
PACKAGES = {"OpenBLASPthread": "libopenblas-pthread-dev", "dnnl": "libdnnl-dev", "Random123/philox.h": "librandom123-dev",
            "thrust/version.h": "libthrust-dev"}
# What comes with the compiler, or is for options that the port leaves off.
NEITHER = {"Threads", "OpenMP", "TBB", "CUDAToolkit", "Libtorch", "nccl.h", "nvtx3/nvToolsExt.h"}


def found_by_cmake():
    """The packages and headers that the library and the program are built with."""
    text = "".join((SOURCE / name).read_text() for name in ("cmake/TandemDependencies.cmake", "src/cli/CMakeLists.txt", "src/kernels/CMakeLists.txt"))
    return set(re.findall(r"find_package\((\w+)", text)) | set(re.findall(r"find_path\(\w+ NAMES (\S+)", text))


class VcpkgPortTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lists = (SOURCE / "CMakeLists.txt").read_text()
        cls.port = json.loads((PORT / "vcpkg.json").read_text())
        cls.file = (PORT / "portfile.cmake").read_text()

    def test_it_is_of_this_version(self):
        version, description = re.search(r'project\(tandem VERSION ([\d.]+).*?DESCRIPTION "([^"]+)"', self.lists, re.DOTALL).groups()
        self.assertEqual((self.port["version"], self.port["description"]), (version, description))
        self.assertEqual((self.port["name"], self.port["license"]), ("tandem", "Apache-2.0"))

    def test_it_needs_what_cmake_finds(self):
        self.assertEqual(found_by_cmake(), {*PORTS, *PACKAGES, *NEITHER})
        needed = [name for name in self.port["dependencies"] if isinstance(name, str)]
        self.assertEqual(sorted(needed), sorted(PORTS.values()))
        usage = (PORT / "usage").read_text()
        for package in PACKAGES.values():
            self.assertIn(package, usage)
        called = {f"vcpkg-{name}" for name in re.findall(r"vcpkg_(cmake(?:_config)?)_\w+\(", self.file)}
        tools = {name["name"].replace("-config", "_config") for name in self.port["dependencies"] if isinstance(name, dict) and name["host"]}
        self.assertEqual(tools, called)

    def test_its_options_are_the_projects(self):
        options = dict(re.findall(r"-D(TANDEM_\w+)=([^\s\"]+)", self.file))
        self.assertLessEqual(set(options), set(re.findall(r"(?:option|set)\((TANDEM_\w+)", self.lists)))
        recipe = (SOURCE / "conanfile.py").read_text()
        for name in ("TANDEM_MARCH", "TANDEM_KERNELS"):
            self.assertIn(f'"{name}": "{options[name]}"', recipe)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
