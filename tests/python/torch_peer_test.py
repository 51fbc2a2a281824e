# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""torch.nn.DataParallel itself trains on virtual devices, and PyTorch is as it was afterwards."""

import unittest

import models
import tandem
import torch
from torch import nn

NAMES = ("_broadcast", "_broadcast_coalesced", "_scatter", "_gather")


def functions():
    return [getattr(torch._C, name, None) for name in NAMES]


class TorchPeerTest(unittest.TestCase):
    def setUp(self):
        tandem.register_devices()

    def test_trains_as_one_device(self):
        for make in (models.Mlp, models.Gpt):
            with self.subTest(make.__name__):
                model, alone = models.double(make)
                optimizer = torch.optim.SGD(model.to("tandem:1").parameters(), lr=0.1)
                reference = torch.optim.SGD(alone.parameters(), lr=0.1)
                with tandem.torch_data_parallel_on_virtual_devices():
                    peer = nn.DataParallel(model, [1, 0, 2])
                    for step in range(3):
                        x, y = models.batch_of(alone, 7, step)
                        loss = models.train_alone(peer, optimizer, x, y.to("tandem:1"))
                        self.assertAlmostEqual(loss, models.train_alone(alone, reference, x, y), delta=1e-12)
                self.assertLessEqual(models.difference(model.cpu(), alone), 1e-12)

    def test_a_second_derivative(self):
        model = nn.Linear(4, 1).to("tandem:0")
        x = torch.ones(2, 4, device="tandem:0", requires_grad=True)
        with tandem.torch_data_parallel_on_virtual_devices():
            y = nn.DataParallel(model, [0, 1])(x)
            torch.autograd.grad(y.sum(), x, create_graph=True)[0].square().sum().backward()
        torch.testing.assert_close(model.weight.grad, 4 * model.weight.detach())

    def test_its_own_errors_are_its_own(self):
        with tandem.torch_data_parallel_on_virtual_devices():
            with self.assertRaisesRegex(RuntimeError, "module must have its parameters and buffers on device tandem:0"):
                nn.DataParallel(models.Mlp(), [0, 1])(torch.ones(2, 6))
            with self.assertRaisesRegex(RuntimeError, "Modules with uninitialized parameters"):
                nn.DataParallel(nn.LazyLinear(2).to("tandem:0"), [0, 1])(torch.ones(2, 6))

    def test_pytorch_is_as_before(self):
        before = functions()
        with self.assertRaises(KeyError), tandem.torch_data_parallel_on_virtual_devices():
            self.assertNotEqual(functions(), before)
            raise KeyError
        self.assertEqual(functions(), before)


if __name__ == "__main__":
    unittest.main()
