# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The advices whose remedy is a wrapper of tandem's, followed: each saves what it promised of the first GPU."""

import gc
import pathlib
import tempfile
import unittest

import torch
import torch.distributed as dist
from torch import nn

import tandem

WIDTH, BLOCKS, ROWS = 1024, 30, 8
NEAR = 0.1  # of what was promised


class WithLoss(nn.Module):
    """Weights that are far larger than the activations."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(BLOCKS)))

    def forward(self, x):
        return self.net(x).square().mean().unsqueeze(0)


def loss_of(model, x):
    return model(x).mean()


class AdviceTest(unittest.TestCase):
    def measured(self, step):
        for _ in range(2):
            step()
        report = tandem.memory(step)
        gc.collect()
        torch.cuda.empty_cache()
        return report

    def trained(self, model, optimizer):
        """The report of a plain step."""

        def step():
            optimizer.zero_grad()
            loss_of(model, torch.ones(ROWS, WIDTH, device="cuda")).backward()
            optimizer.step()

        return self.measured(step)

    def by_step(self, wrapper, optimizer):
        return self.measured(lambda: wrapper.step(torch.ones(ROWS, WIDTH, device="cuda"), loss_of, optimizer))

    def check(self, name, before, after, most=1 + NEAR):
        """Of what was promised it saved nearly all, and at most so much."""
        promised = {remedy.name: remedy.saves for remedy in before.remedies()}
        self.assertIn(name, promised, before.text())
        seen = before.gpus[0].peak_bytes - after.gpus[0].peak_bytes
        self.assertTrue((1 - NEAR) * promised[name] <= seen <= most * promised[name], (seen, promised, before.text(), after.text()))

    def plain(self):
        model = nn.DataParallel(WithLoss().cuda())
        return self.trained(model, torch.optim.SGD(model.parameters(), lr=1e-3))

    def test_buckets_of_tandem(self):
        before = self.plain()
        wrapper = tandem.DataParallel(WithLoss().cuda())
        self.check("buckets", before, self.by_step(wrapper, torch.optim.SGD(wrapper.parameters(), lr=1e-3)))

    def test_buckets_of_ddp(self):
        before = self.plain()
        with tempfile.TemporaryDirectory() as folder:
            dist.init_process_group("gloo", init_method=f"file://{pathlib.Path(folder, 'store')}", rank=0, world_size=1)
            self.addCleanup(dist.destroy_process_group)
            model = nn.parallel.DistributedDataParallel(WithLoss().cuda(), device_ids=[0], gradient_as_bucket_view=True)
            self.check("buckets", before, self.trained(model, torch.optim.SGD(model.parameters(), lr=1e-3)),
                       most=1.25)  # one process sends nothing, and needs no bucket on its way

    def test_a_sharded_optimizer(self):
        whole = tandem.DataParallel(WithLoss().cuda())
        before = self.by_step(whole, torch.optim.AdamW(whole.parameters(), lr=1e-3))
        del whole
        gc.collect()
        wrapper = tandem.DataParallel(WithLoss().cuda(), mode="sharded")
        after = self.by_step(wrapper, tandem.Optimizer(wrapper, torch.optim.AdamW, lr=1e-3))
        self.check("sharded optimizer", before, after)


if __name__ == "__main__":
    unittest.main()
