# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What pip installs: a wheel that needs nothing but Python, and a source distribution that lacks nothing.

CMake gives TANDEM_PACKAGE_BUILD, a folder for the build; TANDEM_PACKAGE_DEFINE, settings of CMake separated by ";" with
which the objects are those that the build of the tests has put into ccache; and TANDEM_PACKAGE_TORCH, where PyTorch is.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

from bare_root import BareRoot, can_be_entered

ROOT = pathlib.Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "install"))
import build_folders  # noqa: E402

BUILD = pathlib.Path(os.environ["TANDEM_PACKAGE_BUILD"])
TORCH = pathlib.Path(os.environ["TANDEM_PACKAGE_TORCH"])
DEFINE = [f"--define={setting}" for setting in os.environ["TANDEM_PACKAGE_DEFINE"].split(";")]
TORCHES = [TORCH, *filter(pathlib.Path.exists, [TORCH.with_name("torch-2.8")])]  # of scripts/setup --oldest-torch; there is room for two adapters
TORCH_INSIDE = "/opt/torch"

DEVICES = """
import sys, tandem
tandem.configure_devices("cpu:2@64MiB")
print(tandem.limit("cpu:1"), tandem.memory_stats("cpu:0").in_use, "torch" in sys.modules)
"""

STEP = """
import torch, tandem
model = torch.nn.Linear(3, 1).double()
x = torch.ones(4, 3, dtype=torch.double)
wrapper = tandem.DataParallel(model, devices="cpu:2")
difference = (wrapper(x) - model(x)).abs().max().item()
before = model.weight.detach().clone()
result = wrapper.step(x, lambda replica, rows: replica(rows).mean(), torch.optim.SGD(model.parameters(), 0.1))
print(difference < 1e-12, result.skipped, (before - model.weight - 0.1).abs().max().item() < 1e-12)
"""

RUNTIMES = """
import tandem, torch
tandem.DataParallel(torch.nn.Linear(3, 1), devices="cpu:2")
print(len({line.split()[-1] for line in open("/proc/self/maps") if "libgomp" in line}))
"""


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        wheels = cls.folder / "wheels"
        torches = [f"--torch={torch}" for torch in TORCHES]
        run(sys.executable, "-B", ROOT / "scripts" / "wheel", *torches, "--output", wheels, "--build", BUILD, *DEFINE)
        (cls.wheel,) = wheels.iterdir()

    def test_has_what_it_should_and_nothing_else(self):
        names = zipfile.ZipFile(self.wheel).namelist()
        for name in ("tandem/py.typed", "tandem/_core.pyi", "tandem/_torch.pyi", "tandem/__init__.py", "tandem/lib/libtandem.so",
                     "tandem/lib/libgomp.so.1", "tandem/stand_in/__main__.py", "tandem/stand_in/hook/sitecustomize.py",
                     "tandem/stand_in/lib/libcudart.so.13", "tandem/adapters/sources/include/tandem/config.hpp",
                     "tandem/adapters/sources/src/python/torch/CMakeLists.txt"):
            self.assertIn(name, names)
        adapters = [name for name in names if re.match(r"tandem/adapters/\d+\.\d+\.\d+/2\.\d+/_torch\..*so", name)]
        self.assertEqual(len(adapters), len(TORCHES), names)
        for licence in ("LICENSE", "THIRD_PARTY_NOTICES.md"):
            self.assertEqual(len([name for name in names if name.endswith(f"licenses/{licence}")]), 1, names)
        strangers = [name for name in names if not name.startswith(("tandem/", "tandem_dp-", "tandem_dp.libs/"))]
        self.assertEqual(strangers, [])
        self.assertLessEqual(self.wheel.stat().st_size, 15 << 20)
        self.assertIn("manylinux", self.wheel.name)

    def test_says_which_processor_it_needs_and_names_no_folder_of_its_build(self):
        unpacked = self.folder / "unpacked"
        zipfile.ZipFile(self.wheel).extractall(unpacked)
        for binary in ("lib/libtandem.so", "bin/tandem"):
            self.assertRegex(run("readelf", "-n", unpacked / "tandem" / binary), "x86 ISA needed: .*x86-64-v2")
        folders = [ROOT, BUILD.resolve(), *TORCHES, TORCH.parent / "python", "/platlib"]  # the last: where scikit-build-core installs first
        self.assertEqual(build_folders.found_in(unpacked, folders), [])

    @unittest.skipUnless(can_be_entered(), "this user may not change the root folder")
    def test_trains_where_there_is_python_alone(self):
        root = BareRoot(self.folder / "root")
        root.install(self.wheel, [sys.executable, "-m", "pip"])
        self.assertEqual(root.python("-c", DEVICES), f"{64 << 20} 0 False\n")
        told = json.loads(root.python("-m", "tandem", "compare", "--devices", "cpu:2", "--data", "digits", "--model", "mlp", "--steps", "2", "--json"))
        self.assertIn("modes", told)
        for torch in TORCHES[1:]:
            root.bring(torch, f"/opt/{torch.name}")
            with self.subTest(torch=torch.name):
                self.assertEqual(root.python("-c", STEP, path=f"/opt/{torch.name}"), "True False True\n")
        root.bring(TORCH, TORCH_INSIDE)
        self.assertEqual(root.python("-c", STEP, path=TORCH_INSIDE), "True False True\n")
        self.assertEqual(root.python("-c", RUNTIMES, path=TORCH_INSIDE), "1\n")
        on_gpu = "import torch; print(torch.ones(2, device='cuda:3').sum().item())"
        self.assertEqual(root.python("-m", "tandem.stand_in", "-c", on_gpu, path=TORCH_INSIDE), "2.0\n")


class SourceTest(unittest.TestCase):
    def test_distribution_is_complete(self):
        make = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        folder = pathlib.Path(scratch.name)
        run(sys.executable, "-c", make, folder, cwd=ROOT)
        (archive,) = folder.glob("*.tar.gz")
        with tarfile.open(archive) as files:
            files.extractall(folder, filter="data")
        (source,) = folder.glob("tandem_dp-*/")
        held = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
        if shutil.which("git") and (ROOT / ".git").exists():
            known = set(run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines())
            self.assertEqual(known - held, set())
            self.assertEqual(held - known, {"PKG-INFO"})
        else:
            self.skipTest("this is no checkout of git, which says what belongs to the source")


if __name__ == "__main__":
    unittest.main()
