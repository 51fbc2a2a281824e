# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem.memory names the parts of a wrapper on PyTorch's GPUs: kept copies, their gradients, the optimizer's shares, exchanges."""

import ctypes
import os
import unittest
import warnings
from unittest import mock

import torch
from control import LIBRARY
from torch import nn
from torch.nn import functional as F

import tandem
from tandem.gpu_memory.processes import processes

ROWS, WIDTH = 256, 256


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 32)).cuda()


def batch():
    return torch.ones(ROWS, 64, device="cuda"), torch.ones(ROWS, 32, device="cuda")


def loss_of(model, part):
    return F.mse_loss(model(part[0]), part[1])


def close(found, wanted):
    """Arenas are rounded up for each tensor."""
    return wanted <= found <= 1.02 * wanted


class MemoryTest(unittest.TestCase):
    def told_of(self, step):
        for _ in range(2):
            step()
        report = tandem.memory(step)
        for gpu in report.gpus:
            self.assertEqual(gpu.peak_bytes, sum(row.nbytes for row in gpu.rows))
            self.assertLessEqual(gpu.unnamed, 0.03, report.text())
        return report

    def check_copies(self, report, nbytes):
        first, *others = report.gpus
        self.assertEqual(len(others), 3)
        self.assertTrue(close(first.by_cause["parameter"], nbytes))
        self.assertNotIn("kept copy of a parameter", first.by_cause)
        for gpu in others:
            self.assertTrue(close(gpu.by_cause["kept copy of a parameter"], nbytes), report.text())
            self.assertGreaterEqual(gpu.by_cause["gradient of a copy"], nbytes)

    def test_a_step(self):
        model = make_model()
        nbytes = sum(x.nbytes for x in model.parameters())
        wrapper = tandem.DataParallel(model)
        optimizer = torch.optim.AdamW(model.parameters())
        report = self.told_of(lambda: wrapper.step(batch(), loss_of, optimizer))
        self.check_copies(report, nbytes)
        first, *others = report.gpus
        self.assertTrue(close(first.by_cause["optimizer state"], 2 * nbytes))
        self.assertTrue(all("optimizer state" not in gpu.by_cause for gpu in others))
        self.assertIn('mode="sharded"', report.text())
        self.assertLess(first.by_cause.get("workspace of an op", 0), nbytes // 2, report.text())  # gradients are added up in place

    def test_shares_of_the_optimizer(self):
        model = make_model()
        nbytes = sum(x.nbytes for x in model.parameters())
        wrapper = tandem.DataParallel(model, mode="sharded")
        optimizer = tandem.Optimizer(wrapper, torch.optim.AdamW, lr=1e-3)
        report = self.told_of(lambda: wrapper.step(batch(), loss_of, optimizer))
        self.check_copies(report, nbytes)
        for gpu in report.gpus:
            self.assertTrue(close(gpu.by_cause["optimizer state"], nbytes // 2), report.text())
        self.assertNotIn("the optimizer's state", report.text())

    def test_a_loss_outside_of_the_replicas(self):
        model = make_model()
        nbytes = sum(x.nbytes for x in model.parameters())
        wrapper = tandem.DataParallel(model)
        optimizer = torch.optim.AdamW(model.parameters())

        def step():
            optimizer.zero_grad()
            loss_of(wrapper, batch()).backward()
            optimizer.step()

        report = self.told_of(step)
        self.check_copies(report, nbytes)
        for gpu in report.gpus:
            self.assertLess(gpu.by_cause.get("loss's own backward", 0), ROWS * 32 * 4 + 1, report.text())

    def test_other_processes_are_named(self):
        wrapper = tandem.DataParallel(make_model())
        self.assertEqual(LIBRARY.stand_in_occupy(2, 4711, ctypes.c_size_t(3 << 30)), 1)
        try:
            report = tandem.memory(lambda: wrapper.step(batch(), loss_of))
        finally:
            LIBRARY.stand_in_occupy(2, 4711, ctypes.c_size_t(0))
        self.assertEqual([list(gpu.other_processes.values()) for gpu in report.gpus], [[], [], [3 << 30], []])
        self.assertRegex(report.text(), r"GiB in use outside of PyTorch \(.+ \(4711\) has 3.0 GiB\)")

    def test_no_other_process_is_named_where_this_one_has_another_number(self):
        LIBRARY.stand_in_occupy(0, 4711, ctypes.c_size_t(3 << 30))
        self.addCleanup(LIBRARY.stand_in_occupy, 0, 4711, ctypes.c_size_t(0))
        torch.ones(1, device="cuda:0")
        self.assertEqual(list(processes([0])[0].others.values()), [3 << 30])
        with mock.patch.object(os, "getpid", lambda: 1):  # as in a container
            self.assertEqual(processes([0]), {})

    def test_a_parameter_that_is_computed_is_not_warned_of(self):
        frozen = nn.Parameter(torch.ones(3, device="cuda"), requires_grad=False)
        frozen.mul_(nn.Parameter(torch.ones(3, device="cuda")))
        self.assertFalse(frozen.is_leaf)
        wrapper = tandem.DataParallel(make_model())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tandem.memory(lambda: wrapper.step(batch(), loss_of))

    def test_a_step_without_effect_gives_the_memory_of_its_update_back(self):
        def without_effect(model, part):
            return loss_of(model, part) + (model[0].weight * 0).abs().sqrt().sum()  # whose gradient is infinite

        for mode in ("server", "classic", "sharded", "ddp"):
            for kind in ("skip", "error"):
                with self.subTest(mode, kind=kind):
                    wrapper = tandem.DataParallel(make_model(), mode=mode, non_finite_gradients=kind)
                    optimizer = tandem.Optimizer(wrapper, torch.optim.RMSprop, lr=0.01)
                    for _ in range(2):
                        wrapper.step(batch(), loss_of, optimizer)
                    before = [torch.cuda.memory_allocated(gpu) for gpu in range(4)]
                    if kind == "skip":
                        self.assertTrue(wrapper.step(batch(), without_effect, optimizer).skipped)
                    else:
                        self.assertRaises(tandem.InvalidArgument, wrapper.step, batch(), without_effect, optimizer)
                    self.assertEqual([torch.cuda.memory_allocated(gpu) for gpu in range(4)], before)

    def test_a_step_that_fails_leaves_nothing_attached(self):
        wrapper = tandem.DataParallel(make_model())
        step = tandem.DataParallel.step
        with self.assertRaises(ZeroDivisionError):
            tandem.memory(lambda: wrapper.step(batch(), lambda replica, part: 1 / 0))
        self.assertIs(tandem.DataParallel.step, step)
        self.told_of(lambda: wrapper.step(batch(), loss_of))


if __name__ == "__main__":
    unittest.main()
