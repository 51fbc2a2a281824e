#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Shows what the bundle of scripts/gpu-check takes from a package.

usage: bundle_test.py FOLDER-OF-SCRIPTS
"""

import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))

from gpu_check import bundle  # noqa: E402


class Bundle(unittest.TestCase):
    def test_what_comes_of_a_package(self):
        def wanted(path):
            return bool((bundle.WANTED.search(path) or bundle.STATIC.search(path)) and not bundle.NOT_WANTED.search(path))
        lib = "/usr/lib/x86_64-linux-gnu"
        for path in ["/usr/include/fmt/core.h", f"{lib}/libz.so", f"{lib}/librapidcheck.a",
                     f"{lib}/cmake/fmt/fmt-config.cmake", "/usr/share/cmake/CLI11/CLI11Config.cmake"]:
            self.assertTrue(wanted(path), path)
        for path in [f"{lib}/libz.a", f"{lib}/openblas-pthread/libopenblasp-r0.3.21.a", "/usr/share/doc/fmt/copyright",
                     f"{lib}/openblas-pthread/libblas.so", f"{lib}/pkgconfig/zlib.pc"]:
            self.assertFalse(wanted(path), path)


if __name__ == "__main__":
    unittest.main()
