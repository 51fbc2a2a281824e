# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Tests the stubs that take the place of NVIDIA's libraries, with small libraries; nothing is fetched."""

import ctypes
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv.pop(1))
import light_torch  # noqa: E402


def compile_library(folder, name, text, *options):
    source = folder / f"{name}.c"
    source.write_text(text)
    subprocess.run(["cc", "-w", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", folder / name, source, *options], check=True)
    return folder / name


class Stubs(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder, self.stubs = pathlib.Path(scratch.name), pathlib.Path(scratch.name, "stubs")
        self.stubs.mkdir()

    def user_of(self, name, function, *options):
        """A library that calls a function of library `name`, which is gone once this one is there."""
        library = compile_library(self.folder, name, f"int {function}(void) {{ return 1; }}", *options)
        user = compile_library(self.folder, f"libuser_of_{name}", f"int {function}(void); int ask(void) {{ return {function}(); }}",
                               library, f"-Wl,-rpath,{self.stubs}")
        library.unlink()
        return user

    def test_stand_where_a_library_is_missing_and_fail_when_called(self):
        user = self.user_of("libnccl.so.99", "ncclSend")
        with self.assertRaises(OSError):
            ctypes.CDLL(str(user))
        self.assertEqual(light_torch.write_stubs([user], self.stubs), ["libnccl.so.99"])
        self.assertEqual(ctypes.CDLL(str(user)).ask(), 999)

    def test_define_the_versions_that_are_asked_for(self):
        script = self.folder / "versions"
        script.write_text("libcufft.so.12 { global: *; };\n")
        user = self.user_of("libcufft.so.12", "cufftExec", f"-Wl,--version-script={script}")
        light_torch.write_stubs([user], self.stubs)
        self.assertEqual(ctypes.CDLL(str(user)).ask(), 999)
        self.assertIn("libcufft.so.12", light_torch.readelf("-V", self.stubs / "libcufft.so.12"))

    def test_tell_libraries_with_like_names_apart(self):
        users = [self.user_of("libcublas.so.13", "cublasGemm"), self.user_of("libcublasLt.so.13", "cublasLtMatmul")]
        needs = light_torch.Needs(users)
        self.assertEqual(needs.of("libcublas.so.13"), ["cublasGemm"])
        self.assertEqual(needs.of("libcublasLt.so.13"), ["cublasLtMatmul"])

    def test_replace_nothing_that_is_there_or_is_no_library_of_nvidia(self):
        user = self.user_of("libcudnn.so.9", "cudnnCreate")
        (self.stubs / "libcudnn.so.9").write_text("the real one")
        self.assertEqual(light_torch.write_stubs([user], self.stubs), [])
        self.assertEqual((self.stubs / "libcudnn.so.9").read_text(), "the real one")
        self.assertEqual(light_torch.write_stubs([self.user_of("libother.so.1", "other")], self.stubs), [])


class Packages(unittest.TestCase):
    def test_are_those_that_pytorch_asks_for(self):
        newer = "Requires-Dist: cuda-toolkit[cublas,cudart,cupti]==13.0.2; platform_system == \"Linux\"\nRequires-Dist: nvidia-nccl-cu13==2.28.9\n"
        self.assertEqual(light_torch.small_ones(newer), ["cuda-toolkit[cudart,cupti]==13.0.2"])
        older = "Requires-Dist: nvidia-cuda-runtime-cu12==12.8.90; platform_system == \"Linux\"\nRequires-Dist: nvidia-cuda-nvrtc-cu12==12.8.93\n"
        self.assertEqual(light_torch.small_ones(older + "Requires-Dist: nvidia-cuda-cupti-cu12==12.8.90\n"),
                         ["nvidia-cuda-runtime-cu12==12.8.90", "nvidia-cuda-cupti-cu12==12.8.90"])


    def test_are_those_of_the_version_that_was_installed(self):
        with tempfile.TemporaryDirectory() as folder:
            for version in ("2.9.0", "2.9.1+cu128", "2.9.10"):
                info = pathlib.Path(folder, f"torch-{version}.dist-info")
                info.mkdir()
                (info / "METADATA").write_text(version)
            self.assertEqual(light_torch.metadata_of(pathlib.Path(folder), "2.9.1"), "2.9.1+cu128")
            self.assertEqual(light_torch.metadata_of(pathlib.Path(folder), "2.9.0"), "2.9.0")


class Versions(unittest.TestCase):
    def test_say_why_there_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder, "torch")
            package.mkdir()
            (package / "__init__.py").write_text("raise OSError('libnvrtc.so.13: cannot open')")
            self.assertIn("libnvrtc.so.13: cannot open", light_torch.imported_version(folder))
            (package / "__init__.py").write_text("__version__ = '2.15.0+cu132'")
            self.assertEqual(light_torch.imported_version(folder), "2.15.0")


if __name__ == "__main__":
    unittest.main()
