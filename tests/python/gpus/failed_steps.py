# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Steps in which something of CUDA fails, beside a training in which nothing does: the tests of refused allocations and failed calls."""

import collections
import copy
import unittest

import torch
from control import calls, fail, forget_failures, reports
from torch import nn
from torch.nn import functional as F

import tandem


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Dropout(0.25), nn.Linear(5, 3))

    def forward(self, x):
        return self.layers(x)


def loss_of(model, batch):
    return F.mse_loss(model(batch[0]), batch[1])


class Training:
    """A model with a wrapper and an update that is shared. Every one makes the same steps."""

    def __init__(self, mode, kind=torch.optim.Adam):
        torch.manual_seed(1)
        self.mode = mode
        self.model = Net().cuda()
        self.wrapper = tandem.DataParallel(self.model, mode=mode, chunk_sizes=[3, 2, 2, 1], deadline=20.0)
        self.optimizer = tandem.Optimizer(self.wrapper, kind, lr=0.05)
        self.batch = torch.randn(8, 6).cuda(), torch.randn(8, 3).cuda()
        self.steps = 0  # that had an effect

    def step(self):
        self.wrapper.step(self.batch, loss_of, self.optimizer)
        self.steps += 1

    def state(self):
        """What a step may change, on the host."""
        all_of_it = self.model.state_dict(), self.optimizer.state_dict()["state"], torch.cuda.get_rng_state(0)
        return copy.deepcopy(torch.utils._pytree.tree_map_only(torch.Tensor, lambda x: x.detach().cpu(), all_of_it))


class FailedStepsTest(unittest.TestCase):
    def states(self, mode, steps, **options):
        """Those after 0 to `steps` steps without a failure."""
        training, states = Training(mode, **options), []
        for _ in range(steps + 1):
            states.append(training.state())
            training.step()
        return states

    def calls_of_a_step(self, training):
        before = calls()
        training.step()
        return {name: n - before.get(name, 0) for name, n in calls().items() if n > before.get(name, 0)}

    def end_of_step(self, training, failure, states):
        """'taken', 'lost', or the error's class: what has become of a step with a failure, and of the one after it.

        states  if given, the program looks at its tensors before the next step. Else nothing is waited for between the two,
                so that work of the failed step may still be under way.
        """
        fail(failure)
        end = "taken"
        try:
            training.step()
        except Exception as e:
            self.check_error(e, failure)
            end = type(e).__name__
        finally:
            forget_failures()
            torch.cuda.set_device(0)  # a guard of PyTorch's that cannot set it back says so, and goes on
        found = None if states is None else training.state()
        before = training.steps
        try:
            training.step()
        except tandem.InvalidArgument as e:
            self.assertRegex(str(e), "unknown state because the update failed .*(GPU |cuda:)[0-3].*wrap the module again")
            return "lost"
        if found is not None:
            self.check_same(found, states[before], f"{failure} {end}")
        return end

    def check_error(self, error, failure):
        self.assertNotIsInstance(error, (AssertionError, tandem.errors.Timeout), failure)

    def check_same(self, found, wanted, text):
        for x, y in zip(torch.utils._pytree.tree_leaves(found), torch.utils._pytree.tree_leaves(wanted), strict=True):
            self.assertTrue(torch.equal(x, y) if isinstance(x, torch.Tensor) else x == y, text)

    def ends_of(self, mode, failures_of, warm_steps=1, **options):
        """What becomes of steps of a mode with a failure each: {end: how often}

        failures_of  (calls of a step by name): the failures.
        warm_steps   before it: what is made once is there.
        options      of the Training.
        """
        most = warm_steps + 8
        states = self.states(mode, most + 2, **options)

        def training():
            made = Training(mode, **options)
            for _ in range(warm_steps):
                made.step()
            return made

        ends = collections.Counter()
        failures, one = failures_of(self.calls_of_a_step(training())), training()
        reports()
        for i, failure in enumerate(failures):
            with self.subTest(f"{mode} {failure}"):
                end = self.end_of_step(one, failure, states if i % 2 == 0 else None)
                ends[end] += 1
                if end != "lost":
                    self.check_same(one.state(), states[one.steps], f"{mode} {failure} {end}")
                self.assertEqual(reports(), [], failure)
                if end == "lost" or one.steps > most or warm_steps == 0:
                    one = training()
        print(mode, dict(ends), end=" ", flush=True)
        return ends
