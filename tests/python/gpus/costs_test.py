# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What a step on PyTorch's GPUs asks of CUDA, as far as it depends on no times: copies, waits of the host in CUDA, bytes between GPUs."""

import json
import unittest

import torch
from control import StandInTest, calls
from torch import nn
from torch.nn import functional as F

import tandem


def made_by(step):
    """How often a step calls each function of CUDA, when it is not the first one."""
    for _ in range(2):
        step()
    before = calls()
    step()
    return {name: n - before.get(name, 0) for name, n in calls().items()}


def loss_of(model, batch):
    return F.mse_loss(model(batch[0]), batch[1])


def step_of(model, mode, width):
    wrapper = tandem.DataParallel(model.cuda(), mode=mode)
    optimizer = tandem.Optimizer(wrapper, torch.optim.Adam)
    batch = torch.randn(8, width).cuda(), torch.randn(8, width).cuda()
    return lambda: wrapper.step(batch, loss_of, optimizer)


class CostsTest(StandInTest):
    def test_a_step_waits_for_a_loss_by_asking_for_it(self):
        made = made_by(step_of(nn.Linear(8, 8), "server", 8))
        for name in ("cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize"):
            self.assertEqual(made.get(name, 0), 0, name)
        self.assertGreaterEqual(made["cudaStreamQuery"], torch.cuda.device_count())

    def test_an_evaluation_sends_unchanged_parameters_once(self):
        model = nn.Sequential(nn.Linear(64, 256), nn.Linear(256, 64)).cuda().eval()
        wrapper, x = tandem.DataParallel(model), torch.randn(8, 64).cuda()

        def evaluate():
            with torch.no_grad():
                for _ in range(4):
                    wrapper(x)

        links = json.loads(tandem.explain(evaluate).json())["links"]
        sent = sum(link["bytes"] for link in links if link["source"] == "cuda:0")
        parameters = sum(p.nbytes for p in model.parameters())
        copies = torch.cuda.device_count() - 1
        self.assertGreater(sent, copies * parameters)
        self.assertLess(sent, (copies + 0.1) * parameters)


if __name__ == "__main__":
    unittest.main()
