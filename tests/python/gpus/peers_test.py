# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""GPUs between which copies change their bytes or hang (TANDEM_STAND_IN_PEERS=2, 3)."""

import unittest

import torch
from torch import nn

import tandem
from tandem.errors import InvalidArgument


class PeersTest(unittest.TestCase):
    def test_they_are_refused_by_name(self):
        for options in ({}, {"device_ids": [0, 2]}, {"backend": "nccl"}):
            with self.subTest(options), self.assertRaisesRegex(
                InvalidArgument, r"^DataParallel: a copy between GPUs 0 and [12] hung or changed its bytes; name other GPUs"
            ):
                tandem.DataParallel(nn.Linear(4, 4).cuda(), **options)(torch.ones(4, 4, device="cuda"))

    def test_one_alone_trains(self):
        wrapper = tandem.DataParallel(nn.Linear(4, 4).cuda(), device_ids=[0])
        wrapper(torch.ones(2, 4, device="cuda")).sum().backward()
        torch.testing.assert_close(wrapper.module.bias.grad.cpu(), torch.full((4,), 2.0))


if __name__ == "__main__":
    unittest.main()
