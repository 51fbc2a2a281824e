# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Devices may come after a backward: PyTorch's engine counts them in the first one of a process."""

import copy
import unittest

import models
import tandem
import torch


class LateDevicesTest(unittest.TestCase):
    def test_each_wrapper_may_have_more(self):
        torch.manual_seed(1)
        net = models.Mlp()
        x = torch.randn(24, 6)
        net(x).square().mean().backward()
        expected = [p.grad.clone() for p in net.parameters()]
        for count in (2, 9, 12):
            with self.subTest(count):
                twin = copy.deepcopy(net)
                twin.zero_grad()
                wrapped = tandem.DataParallel(twin, devices=f"cpu:{count}")
                wrapped(x).square().mean().backward()
                for p, gradient in zip(twin.parameters(), expected, strict=True):
                    torch.testing.assert_close(p.grad, gradient)
                self.assertEqual(torch.tandem.device_count(), max(count, 8))


if __name__ == "__main__":
    unittest.main()
