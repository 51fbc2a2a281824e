# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Transforms of torch.func in the replicas, and around the wrapper."""

import unittest

import models
import tandem
import torch
from torch import func, nn


class RowGradients(nn.Module):
    """The gradient of each row's own output, by two transforms."""

    def __init__(self):
        super().__init__()
        self.net = models.Mlp()

    def forward(self, x):
        return func.vmap(func.grad(lambda row: self.net(row).square().sum()))(x)


class TransformsTest(unittest.TestCase):
    def setUp(self):
        tandem.configure_devices("cpu:3")

    def test_a_forward_may_use_them(self):
        module = RowGradients()
        x = torch.randn(7, 6)
        expected = module(x)
        torch.testing.assert_close(tandem.DataParallel(module)(x), expected)

    def test_around_the_wrapper_they_are_refused(self):
        wrapper = tandem.DataParallel(models.Mlp())
        x = torch.randn(7, 6)
        before = wrapper(x)
        for name, call in (
            ("grad", lambda: func.grad(lambda x: wrapper(x).sum())(x)),
            ("vmap", lambda: func.vmap(wrapper)(torch.randn(2, 7, 6))),
            ("jvp", lambda: func.jvp(wrapper, (x,), (x,))),
        ):
            with self.subTest(name), self.assertRaisesRegex(tandem.InvalidArgument, "transform inside the module's forward"):
                call()
        torch.testing.assert_close(wrapper(x), before)


if __name__ == "__main__":
    unittest.main()
