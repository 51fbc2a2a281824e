# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Several devices on one of PyTorch's GPUs (cuda:0x2): they train as one device does, and what they cannot do is refused by name."""

import unittest

import torch
from torch import nn
from torch.nn import functional as F

import tandem
from tandem.errors import InvalidArgument

ROWS = 12


def make_model(norm=False):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16) if norm else nn.Tanh(), nn.Linear(16, 4))


def batch():
    torch.manual_seed(1)
    return torch.randn(ROWS, 8), torch.randn(ROWS, 4)


def on_gpu():
    return tuple(x.cuda() for x in batch())


def loss_of(model, part):
    return F.mse_loss(model(part[0]), part[1])


class SharedGpuTest(unittest.TestCase):
    def wrapped(self, norm=False, **options):
        return tandem.DataParallel(make_model(norm).cuda(), devices="cuda:0x2", deadline=60.0, **options)

    def test_they_train_as_one_device(self):
        one = make_model()
        expected = loss_of(one, batch())
        expected.backward()
        wrapper = self.wrapped(mode="server")
        loss = loss_of(wrapper, on_gpu())
        loss.backward()
        self.assertAlmostEqual(loss.item(), expected.item(), places=5)
        for found, wanted in zip(wrapper.module.parameters(), one.parameters()):
            torch.testing.assert_close(found.grad.cpu(), wanted.grad)

    def test_a_batch_norm_that_synchronises_is_refused_where_it_would_train(self):
        wrapper = self.wrapped(norm=True)
        with self.assertRaisesRegex(RuntimeError, "GPU 0 has 2 devices, whose backwards PyTorch runs one after the other"):
            wrapper(on_gpu()[0])
        with torch.no_grad():
            wrapper(on_gpu()[0])
        loss_of(self.wrapped(norm=True, batch_norm="per_replica"), on_gpu()).backward()

    def test_their_work_is_not_told_apart(self):
        wrapper = self.wrapped()
        wrapper(on_gpu()[0])
        with self.assertRaisesRegex(InvalidArgument, "cuda:0 and cuda:1 are devices of GPU 0, whose work PyTorch does not tell apart"):
            tandem.explain(lambda: wrapper(on_gpu()[0]))

    def test_their_memory_is_not_told_apart(self):
        with self.assertRaisesRegex(InvalidArgument, "cuda:0 has a GPU with other devices, and PyTorch's memory there is that of all"):
            self.wrapped().step_model(on_gpu(), loss_of)


if __name__ == "__main__":
    unittest.main()
