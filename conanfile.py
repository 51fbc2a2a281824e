# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The recipe of Conan 2: conan create . makes a package for CMake's find_package(tandem). Its libraries are the system's."""

import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import load
from conan.tools.system.package_manager import Apt

BUILD = ("g++", "libcli11-dev", "libthrust-dev", "nlohmann-json3-dev", "librandom123-dev", "libxxhash-dev", "libgloo-dev", "libopenmpi-dev")
LINKED = ("libopenblas-pthread-dev", "libdnnl-dev", "ocl-icd-opencl-dev", "zlib1g-dev", "libfmt-dev")


class Tandem(ConanFile):
    name = "tandem"
    description = "Train one model on all devices of one machine, from one process"
    license = "Apache-2.0"
    package_type = "static-library"
    settings = ("os", "arch", "compiler", "build_type")
    exports_sources = ("CMakeLists.txt", "LICENSE", "THIRD_PARTY_NOTICES.md", "cmake/*", "include/*", "src/*", "examples/data/*")
    test_package_folder = "tests/install/stranger"

    def set_version(self):
        lists = load(self, os.path.join(self.recipe_folder, "CMakeLists.txt"))
        self.version = re.search(r"project\(tandem VERSION ([\d.]+)", lists).group(1)

    def layout(self):
        cmake_layout(self)

    def system_requirements(self):
        Apt(self).install([*BUILD, *LINKED], check=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "CMAKE_UNITY_BUILD": True,
            "CMAKE_UNITY_BUILD_BATCH_SIZE": "32",
            "TANDEM_BUILD_TESTS": False,
            "TANDEM_BUILD_EXAMPLES": False,
            "TANDEM_WERROR": False,  # compilers that come later warn of more
            "TANDEM_MARCH": "x86-64-v2",  # on which the package runs; its kernels are chosen by the processor
            "TANDEM_KERNELS": "x86-64-v2,x86-64-v3,x86-64-v4",
        })
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # tandem's own files of CMake know what it links
        self.cpp_info.builddirs = ["lib/cmake/tandem"]
        self.cpp_info.includedirs, self.cpp_info.libdirs = [], []
