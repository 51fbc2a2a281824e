# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Each allocation is refused once in a step: the step has no effect and the next one works, or the wrapper says that it is lost."""

import collections
import copy
import unittest

import torch
from control import calls, fail, forget_failures
from torch import nn
from torch.nn import functional as F

import tandem

MODES = ["server", "sharded"]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Dropout(0.25), nn.Linear(5, 3))

    def forward(self, x):
        return self.layers(x)


def loss_of(model, batch):
    return F.mse_loss(model(batch[0]), batch[1])


class Training:
    """A model with a wrapper and an update that is shared, and what a step of them may change."""

    def __init__(self, mode):
        torch.manual_seed(1)
        self.model = Net().cuda()
        self.wrapper = tandem.DataParallel(self.model, mode=mode, chunk_sizes=[3, 2, 2, 1], deadline=20.0)
        self.optimizer = tandem.Optimizer(self.wrapper, torch.optim.Adam, lr=0.05)
        self.batch = torch.randn(8, 6).cuda(), torch.randn(8, 3).cuda()
        self.step()  # what is made once is there

    def step(self):
        self.wrapper.step(self.batch, loss_of, self.optimizer)

    def state(self):
        all_of_it = self.model.state_dict(), self.optimizer.state_dict()["state"], torch.cuda.get_rng_state(0)
        return copy.deepcopy(torch.utils._pytree.tree_map_only(torch.Tensor, lambda x: x.detach().cpu(), all_of_it))


class RefusedAllocationsTest(unittest.TestCase):
    def check_same(self, found, wanted, text):
        for x, y in zip(torch.utils._pytree.tree_leaves(found), torch.utils._pytree.tree_leaves(wanted), strict=True):
            self.assertTrue(torch.equal(x, y) if isinstance(x, torch.Tensor) else x == y, text)

    def calls_of_a_step(self, training):
        before = calls()
        training.step()
        return {name: n - before.get(name, 0) for name, n in calls().items() if n > before.get(name, 0)}

    def check_failure(self, training, failure, expected=Exception):
        """'taken', 'failed' or 'lost': what has become of the step. After a loss the wrapper says so, and takes no more."""
        before = training.state()
        fail(failure)
        try:
            training.step()
            return "taken"
        except expected as e:
            self.assertNotIsInstance(e, (AssertionError, TimeoutError), failure)
        finally:
            forget_failures()
            torch.cuda.set_device(0)  # a guard of PyTorch's that cannot set it back says so, and goes on
        after = training.state()
        try:
            training.step()
        except tandem.InvalidArgument as e:
            self.assertRegex(str(e), "unknown state because the update failed .*(GPU |cuda:)[0-3].*wrap the module again")
            return "lost"
        self.check_same(after, before, failure)
        return "failed"

    def ends_of(self, mode, failures_of, expected=Exception):
        """What becomes of steps of a mode with a failure each: {end: how often}"""
        training = Training(mode)
        ends = collections.Counter()
        for failure in failures_of(self.calls_of_a_step(training)):
            with self.subTest(f"{mode} {failure}"):
                end = self.check_failure(training, failure, expected)
                ends[end] += 1
                if end == "lost":
                    training = Training(mode)
        print(mode, dict(ends), end=" ", flush=True)
        return ends

    def test_each_allocation_refused(self):
        def failures_of(counts):
            return [f"cudaMallocAsync:{i}+" for i in range(1, counts["cudaMallocAsync"] + 1)]

        for mode in MODES:
            ends = self.ends_of(mode, failures_of, (torch.OutOfMemoryError, tandem.errors.OutOfMemory))  # the latter in an update
            self.assertGreater(ends["failed"], ends["lost"], mode)
            self.assertEqual(ends["taken"], 0, mode)


if __name__ == "__main__":
    unittest.main()
