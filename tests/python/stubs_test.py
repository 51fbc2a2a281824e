# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The package's types: the stubs are those of the extension modules, and mypy accepts all of it and programs that use it."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import tandem

PACKAGE = pathlib.Path(tandem.__file__).parent
ROOT = pathlib.Path(__file__).parents[2]
HEAD_LINES = 4  # of our own above a stub

PROGRAM = '''
import torch

import tandem


def loss(replica: torch.nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(replica(batch[0]), batch[1])


model = tandem.DataParallel(torch.nn.Linear(3, 2), gpu0_bsz=4)
optimizer = tandem.Optimizer(model, torch.optim.AdamW, lr=1e-3)
result = model.step((torch.ones(8, 3), torch.zeros(8, dtype=torch.long)), loss, optimizer)
mean: float = result.loss
in_use: int = tandem.memory_stats("cpu:1").in_use
'''

# The adapter's folder becomes one of the package's when the adapter is chosen.
STUBGEN = "import sys, tandem._with_torch\nfrom nanobind.stubgen import main\nmain(sys.argv[1:])"


def run(*arguments):
    return subprocess.run([sys.executable, "-B", *arguments], capture_output=True, text=True, check=False)


class StubsTest(unittest.TestCase):
    maxDiff = None

    def test_are_those_of_the_modules(self):
        for name in ("_core", "_torch"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                made = pathlib.Path(folder, "made.pyi")
                done = run("-c", STUBGEN, "-q", "-m", f"tandem.{name}", "-o", str(made))
                self.assertEqual(done.returncode, 0, done.stderr)
                stub = (PACKAGE / f"{name}.pyi").read_text().splitlines()[HEAD_LINES:]
                self.assertEqual(made.read_text().splitlines(), stub)

    def test_mypy_accepts_the_package_and_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program.py")
            program.write_text(PROGRAM)
            done = run("-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary", "--cache-dir", folder,
                       str(PACKAGE), str(program), *map(str, sorted(ROOT.glob("examples/python/*.py"))))
            self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    unittest.main()
