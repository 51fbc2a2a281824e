# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What pip installs: a wheel that needs no compiler and no PyTorch, and a source distribution that lacks nothing.

CMake gives TANDEM_PACKAGE_BUILD, a folder for the build, and TANDEM_PACKAGE_DEFINE, settings of CMake separated by ";" with
which the objects are those that the build of the tests has put into ccache.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ["TANDEM_PACKAGE_BUILD"])
DEFINE = [f"-Ccmake.define.{setting}" for setting in os.environ["TANDEM_PACKAGE_DEFINE"].split(";")]

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
result = wrapper.step(x, lambda replica, rows: replica(rows).mean(), torch.optim.SGD(model.parameters(), 0.1))
print(difference < 1e-12, result.skipped, tandem.__file__)
"""


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def test_wheel_in_an_empty_environment(self):
        wheels = self.folder / "wheels"
        run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--no-index",
            "--wheel-dir", wheels, f"-Cbuild-dir={BUILD}", *DEFINE, ROOT)
        (wheel,) = wheels.iterdir()
        self.check_names(wheel)
        run(sys.executable, "-m", "venv", "--without-pip", self.folder / "venv")
        python = self.folder / "venv" / "bin" / "python"
        bare = {"PATH": str(python.parent)}  # neither a compiler nor packages of anyone else
        run(sys.executable, "-m", "pip", "--quiet", "--python", python, "install", "--no-index", "--no-deps", wheel, env=bare)
        self.assertEqual(run(python, "-c", DEVICES, env=bare), f"{64 << 20} 0 False\n")
        program = python.parent / "tandem"
        told = json.loads(run(program, "compare", "--devices", "cpu:2", "--data", "digits", "--model", "mlp", "--steps", "2", "--json", env=bare))
        self.assertIn("modes", told)
        with_torch = bare | {"PYTHONPATH": os.environ["TANDEM_PACKAGE_TORCH"]}
        said = run(python, "-c", STEP, env=with_torch).split()
        self.assertEqual(said[:2], ["True", "False"])
        self.assertTrue(said[2].startswith(str(self.folder)), said)
        on_gpu = "import torch; print(torch.ones(2, device='cuda:3').sum().item())"
        self.assertEqual(run(python, "-m", "tandem.stand_in", "-c", on_gpu, env=with_torch).split(), ["2.0"])

    def check_names(self, wheel):
        names = zipfile.ZipFile(wheel).namelist()
        for name in ("tandem/py.typed", "tandem/_core.pyi", "tandem/_torch.pyi", "tandem/__init__.py", "tandem/lib/libtandem.so",
                     "tandem/stand_in/__main__.py", "tandem/stand_in/hook/sitecustomize.py", "tandem/stand_in/lib/libcudart.so.13"):
            self.assertIn(name, names)
        licences = [name for name in names if name.endswith("licenses/LICENSE")]
        self.assertEqual(len(licences), 1, names)
        strangers = [name for name in names if not name.startswith(("tandem/", "tandem_dp-"))]
        self.assertEqual(strangers, [])

    def test_source_distribution_is_complete(self):
        make = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
        run(sys.executable, "-c", make, self.folder, cwd=ROOT)
        (archive,) = self.folder.glob("*.tar.gz")
        with tarfile.open(archive) as files:
            files.extractall(self.folder, filter="data")
        (source,) = self.folder.glob("tandem_dp-*/")
        held = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
        if shutil.which("git") and (ROOT / ".git").exists():
            known = set(run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines())
            self.assertEqual(known - held, set())
            self.assertEqual(held - known, {"PKG-INFO"})
        else:
            self.skipTest("this is no checkout of git, which says what belongs to the source")


if __name__ == "__main__":
    unittest.main()
