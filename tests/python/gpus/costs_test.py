# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What a step on PyTorch's GPUs asks of CUDA, as far as it depends on no times: copies, waits of the host in CUDA, bytes between GPUs."""

import itertools
import json
import unittest

import torch
from control import StandInTest, calls
from torch import nn
from torch.nn import functional as F

import tandem

MODES = ("server", "sharded", "ddp", "classic")


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


class Mixed(nn.Module):
    """More small parameters than are copied at once, large ones between them, one that is used twice, a sparse one, and one unused."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 6, sparse=True)
        self.small = nn.ModuleList(nn.Linear(6, 6) for _ in range(9))
        self.wide = nn.Linear(6, 1500)
        self.large = nn.Linear(1500, 6)
        self.twice = nn.Linear(6, 6)
        self.unused = nn.Linear(6, 6)

    def forward(self, rows):
        x = self.words(rows)
        for i, layer in enumerate(self.small):
            x = torch.tanh(self.twice(layer(x)) if i % 4 == 1 else layer(x))
            if i == 4:
                x = x + self.large(torch.relu(self.wide(x)))
        return x


class CostsTest(StandInTest):
    def test_small_gradients_are_copied_together(self):
        for mode in MODES:
            few, many = (
                made_by(step_of(nn.Sequential(*[nn.Linear(8, 8) for _ in range(layers)]), mode, 8)) for layers in (3, 6))
            with self.subTest(mode):
                self.assertEqual(few["cudaMemcpyAsync"], many["cudaMemcpyAsync"])

    def test_a_step_waits_for_a_loss_by_asking_for_it(self):
        made = made_by(step_of(nn.Linear(8, 8), "server", 8))
        for name in ("cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize"):
            self.assertEqual(made.get(name, 0), 0, name)
        self.assertGreaterEqual(made["cudaStreamQuery"], torch.cuda.device_count())

    def test_gradients_that_are_copied_together_are_those_of_one_device(self):
        for mode, parts in itertools.product(MODES, (1, 2)):
            torch.manual_seed(4)
            one = Mixed().double()
            wrapper = tandem.DataParallel(Mixed().double().cuda(), mode=mode, accumulate=parts)
            wrapper.module.load_state_dict(one.state_dict())
            optimizers = torch.optim.SGD(one.parameters(), lr=0.3), tandem.Optimizer(wrapper, torch.optim.SGD, lr=0.3)
            for rows in (8, 3, 1, 12):
                batch = torch.randint(20, (rows,)), torch.randn(rows, 6, dtype=torch.float64)
                optimizers[0].zero_grad()
                loss = loss_of(one, batch)
                loss.backward()
                optimizers[0].step()
                result = wrapper.step(tuple(x.cuda() for x in batch), loss_of, optimizers[1])
                with self.subTest(mode=mode, rows=rows, parts=parts):
                    self.assertAlmostEqual(result.loss, loss.item(), 6)
                    for name, value in wrapper.module.state_dict().items():
                        self.assert_close(value, one.state_dict()[name], 1e-12)

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
