# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of users come to the same on GPUs of the stand-in as on the host."""

import importlib
import inspect
import unittest

import torch
from control import StandInTest
from programs import packages, plain
from torch import nn

TOLERANCES = {"amp_with_scaler": 2e-3, "bf16_autocast": 5e-3}  # others: 2e-5
OF_PACKAGES = {"resnet18": "torchvision", "vision_transformer": "torchvision", "detection_lists": "torchvision",
               "bert_trainer": "accelerate", "gpt2": "transformers", "t5": "transformers"}


def programs(module):
    return {name: f for name, f in inspect.getmembers(module, inspect.isfunction)
            if list(inspect.signature(f).parameters) == ["device", "wrap"]}


def run(program, device, wrap=lambda model: model):
    torch.manual_seed(3)
    return [torch.as_tensor(value).cpu() for value in program(device, wrap)]


class ProgramsTest(StandInTest):
    def need(self, package):
        for name in (package, "torchvision"):  # which is for one PyTorch, and transformers asks for it
            try:
                importlib.import_module(name)
            except (ImportError, RuntimeError) as e:
                self.skipTest(f"{name} is not there, or is for another PyTorch ({e}); scripts/setup --programs")

    def compare(self, name, program):
        on_host, on_gpu = run(program, "cpu"), run(program, "cuda")
        self.assertGreater(len(on_host), 1)
        for x, y in zip(on_gpu, on_host, strict=True):
            self.assert_close(x, y, TOLERANCES.get(name, 2e-5))
        return on_host

    def test_programs_of_pytorch(self):
        for name, program in programs(plain).items():
            with self.subTest(name):
                self.compare(name, program)

    def test_programs_on_four_gpus(self):
        """Those that let their model be wrapped, but for batch norm, which sees a part of the rows."""
        for name, program in programs(plain).items():
            if "wrap(" not in inspect.getsource(program):
                continue
            with self.subTest(name):
                for x, y in zip(run(program, "cuda", nn.DataParallel), run(program, "cpu"), strict=True):
                    self.assert_close(x, y, 5e-5)

    def test_programs_of_packages(self):
        for name, program in programs(packages).items():
            with self.subTest(name):
                self.need(OF_PACKAGES[name])
                self.compare(name, program)

    def test_trainer_on_four_gpus(self):
        """It wraps the model in DataParallel by itself."""
        self.need("accelerate")
        trainer, model = packages.train_bert("cuda", 4)
        self.assertIsInstance(trainer.model_wrapped, nn.DataParallel)
        self.assertEqual(trainer.args.n_gpu, 4)
        self.assertTrue(all(p.isfinite().all() for p in model.parameters()))

    def test_there_are_twenty(self):
        self.assertGreaterEqual(len(programs(plain)) + len(programs(packages)), 20)


if __name__ == "__main__":
    unittest.main()
