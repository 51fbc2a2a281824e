# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Backwards that are not one for each forward: for each output, of two forwards, and within a backward."""

import copy
import unittest

import tandem
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

MODES = ("classic", "server", "sharded", "ddp")


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 2), nn.Linear(4, 3)

    def forward(self, x):
        return self.a(x).square(), self.b(x).square()


class Shared(nn.Module):
    """Uses one part twice, recomputed by backwards of their own, and `plain` times without."""

    def __init__(self, plain=0):
        super().__init__()
        self.part, self.last, self.plain = nn.Linear(4, 4), nn.Linear(4, 2), plain

    def forward(self, x):
        x = x.detach().requires_grad_()
        for _ in range(2):
            x = checkpoint(self.part, x, use_reentrant=True)
        for _ in range(self.plain):
            x = self.part(x)
        return self.last(x)


class GoesBack(nn.Module):
    """Its forward adds a penalty's gradient by a backward of its own."""

    def __init__(self):
        super().__init__()
        self.part = nn.Linear(4, 2)

    def forward(self, x):
        with torch.enable_grad():
            self.part(x).square().sum().backward()
        return self.part(x)


class Dropping(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.weight, self.drop, self.reentrant = nn.Parameter(torch.ones(4)), nn.Dropout(0.5), reentrant

    def forward(self, x):
        return checkpoint(lambda v: self.drop(v * self.weight), x.detach().requires_grad_(), use_reentrant=self.reentrant)


class BackwardTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.x = torch.randn(7, 4)

    def assert_same_gradients(self, net, alone):
        for (name, p), q in zip(net.named_parameters(), alone.parameters()):
            torch.testing.assert_close(p.grad, q.grad, rtol=0, atol=1e-12, msg=name)

    def test_a_backward_for_each_output(self):
        for mode in MODES:
            with self.subTest(mode):
                net = Heads()
                alone = copy.deepcopy(net)
                for model in (tandem.DataParallel(net, devices="cpu:3", mode=mode), alone):
                    first, second = model(self.x)
                    second.sum().backward()
                    first.sum().backward()
                self.assert_same_gradients(net, alone)

    def test_one_backward_of_forwards_with_few_and_many_rows(self):
        for mode in MODES:
            with self.subTest(mode):
                net = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4))
                alone = copy.deepcopy(net)
                for model in (tandem.DataParallel(net, devices="cpu:3", mode=mode), alone):
                    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                    model(self.x[:1]).square().sum().backward()
                    optimizer.step()
                    optimizer.zero_grad()
                    (model(self.x[:1]).square().sum() + model(self.x).square().sum() + model(self.x[:2]).square().sum()).backward()
                self.assert_same_gradients(net, alone)

    def test_backwards_within_a_steps(self):
        for make in (Shared, lambda: Shared(plain=1), GoesBack):
            for mode in MODES:
                with self.subTest(mode, net=type(make()).__name__):
                    net = make()
                    alone = copy.deepcopy(net)
                    model = tandem.DataParallel(net, devices="cpu:3", mode=mode)
                    for _ in range(2):
                        model.step(self.x, lambda replica, part: (replica(part).square().sum(), len(part)))
                        (alone(self.x).square().sum() / 7).backward()
                    self.assert_same_gradients(net, alone)

    def test_recomputation_draws_the_masks_of_the_forward(self):
        for reentrant in (False, True):
            with self.subTest(reentrant=reentrant):
                net = Dropping(reentrant)
                y = tandem.DataParallel(net, devices="cpu:3")(torch.ones(7, 4))
                y.sum().backward()
                torch.testing.assert_close(net.weight.grad, y.detach().sum(0))


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    tandem.configure_devices("cpu:4")
    unittest.main()
