# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The test package of the recipe: conan create builds the stranger's project with what it has packed, and runs its program."""

import pathlib

from conan import ConanFile
from conan.errors import ConanException
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class Stranger(ConanFile):
    settings = ("os", "arch", "compiler", "build_type")
    generators = "CMakeDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self, build_folder="../../../build/stranger")  # beside other builds of the repository, and not in this folder

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # a file beside the sources
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            page = pathlib.Path(self.build_folder) / "page.html"
            self.run(f"./why_full '{page}'", cwd=self.cpp.build.bindir, env="conanrun")
            if not page.read_text().startswith("<!DOCTYPE html>"):
                raise ConanException(f"{page} is no page")
