#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Shows what scripts/gpu-check pack builds and packs, and that it refuses too much; the build is a fake.

usage: pack_test.py FOLDER-OF-SCRIPTS
"""

import json
import os
import pathlib
import sys
import tarfile
import unittest
from unittest import mock

SCRIPTS = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SCRIPTS))

import fake_tools  # noqa: E402
from fake_machine import FakeMachine  # noqa: E402

from gpu_check import bundle, pack  # noqa: E402

FakeMachine.scripts = SCRIPTS


class Pack(FakeMachine):
    def setUp(self):
        super().setUp()
        for name in ("ldd", "readelf", "strip"):
            fake_tools.write_program(self.bin / name, name)
        self.file = self.folder / "to" / pack.FILE
        library = self.folder / "libfmt.so.9"
        library.write_text("a library")
        self.settings["ldd finds"] = {name: str(library) for name in ("libfmt.so.9", "libcudart.so.13", "libcublasLt.so.13",
                                                                      "libcudnn.so.9", "libcuda.so.1", "libstdc++.so.6")}
        for name in self.settings["ldd finds"]:
            self.settings["ldd finds"][name] = str(library.with_name(name))
            library.with_name(name).write_text(name)

    def command(self, *arguments):
        """As `scripts/gpu-check pack`, with the build in the test's folder."""
        copied = self.folder / "root"
        if not copied.exists():
            copied.mkdir()
            for name in ("scripts", "bench", "examples"):
                (copied / name).symlink_to(SCRIPTS.parent / name)
        main = (f"import pathlib, sys; sys.path.insert(0, '{SCRIPTS}'); from gpu_check import command_line; "
                f"command_line.ROOT = pathlib.Path('{copied}'); sys.exit(command_line.main(sys.argv[1:]))")
        return ["-c", main, "pack", self.file.parent, *arguments]

    def names(self):
        with tarfile.open(self.file) as packed:
            return {name.removeprefix(f"{pack.NAME}/") for name in packed.getnames()}

    def test_what_is_built_and_packed(self):
        said = self.run_check()
        self.assertIn(f"{self.file}: 0.", said)
        configured = " ".join(next(c["arguments"] for c in self.calls("cmake") if c["arguments"][0] == "-S"))
        for option in ["CMAKE_CUDA_ARCHITECTURES=90-real", "TANDEM_MARCH=x86-64-v3", "BUILD_SHARED_LIBS=ON", "TANDEM_ONEDNN=OFF"]:
            self.assertIn(option, configured)
        names = self.names()
        for name in ["pack.json", "scripts/gpu-check", "scripts/gpu_check/brief/stages.py", "bench/peers/in_turn.py", "tree/tandem",
                     "tree/tests/ops/ops_test", "tree/tests/comm/comm_test", "tree/tests/parallel/parallel_exactness_test",
                     "tree/bench/step/step_bench", "tree/bench/ops/ops_bench", "lib/libfmt.so.9"]:
            self.assertIn(name, names)
        self.assertTrue(any(name.startswith("data/digits/") for name in names))
        self.assertEqual([name for name in names if name.startswith("lib/")], ["lib/libfmt.so.9"])  # not what is CUDA's

    def test_it_runs_where_it_is_unpacked(self):
        self.run_check("--stand-in")
        fake_tools.write_program(self.bin / "ncu", "ncu")
        with tarfile.open(self.file) as packed:
            packed.extractall(self.folder)
        program = self.folder / pack.NAME / "scripts" / "gpu-check"
        self.command = lambda *arguments: [program, "brief", "--out", self.out, *arguments]
        self.run_check()
        self.assertIn("no figure means anything", self.report())
        self.assertIn("ReduceTest", " ".join(self.calls("ops_test")[0]["arguments"]))  # fewer tests
        results = json.loads((self.out / "results.json").read_text())
        self.assertEqual(results["steps"]["ncu/product"]["reason"], "the stand-in is not a GPU")

    def test_too_much_is_refused(self):
        (self.folder / "settings.json").write_text(json.dumps(self.settings))
        self.command()
        with mock.patch.dict(os.environ, self.environment), mock.patch.object(pack, "MAX_NBYTES", 5000):
            with self.assertRaisesRegex(bundle.BundleError, "MiB, but at most 0 are allowed"):
                pack.make(self.folder / "root", self.file.parent, "90", stand_in=False)

    def test_it_may_have_45_mebibytes(self):
        large = self.folder / "large"
        large.touch()
        os.truncate(large, 45 * 2**20)
        self.assertEqual(bundle.check_size(large, pack.MAX_NBYTES), large)
        os.truncate(large, 45 * 2**20 + 1)
        with self.assertRaisesRegex(bundle.BundleError, "has 45.0 MiB, but at most 45 are allowed"):
            bundle.check_size(large, pack.MAX_NBYTES)

    def test_a_library_that_cannot_be_packed(self):
        self.settings["ldd does not find"] = ["libcuda.so.1", "libother.so.2"]
        self.assertIn("tandem needs libother.so.2, which ldd does not find", self.run_check(wanted=1))

    def test_a_build_that_fails(self):
        self.settings["compile fails"] = True
        self.assertIn("the build failed: ", self.run_check(wanted=1))
        self.assertFalse(self.file.exists())


if __name__ == "__main__":
    unittest.main()
