# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Streams of the caller's and of modules on PyTorch's GPUs. On the stand-in a missing wait fails the test."""

import itertools
import threading
import unittest

import torch
from forms import FORMS, make_optimizer, train
from torch import nn
from torch.nn import functional as F

import tandem

MODES = ["server", "classic", "sharded", "ddp"]
ROWS = [8, 7, 3, 12]  # uneven, and fewer than GPUs


class OnItsOwnStream(nn.Module):
    """Runs its parts on a stream each, from the output of a layer."""

    def __init__(self, *parts):
        super().__init__()
        self.stem, self.parts, self.head = nn.Linear(6, 6), nn.ModuleList(parts), nn.Linear(5, 3)

    def forward(self, x):
        x, outputs = self.stem(x), []
        current = torch.cuda.current_stream(x.device)
        for part in self.parts:
            own = torch.cuda.Stream(x.device)
            own.wait_stream(current)
            x.record_stream(own)
            with torch.cuda.stream(own):
                outputs.append(part(x))
            current.wait_stream(own)
            outputs[-1].record_stream(current)
        return self.head(sum(outputs))


class GoesBackOnItsOwnStream(torch.autograd.Function):
    """A product whose gradients are made, and in part freed, on a stream of their own."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    def backward(ctx, dy):
        current, own = torch.cuda.current_stream(dy.device), torch.cuda.Stream(dy.device)
        own.wait_stream(current)
        for t in (*ctx.saved_tensors, dy):
            t.record_stream(own)
        with torch.cuda.stream(own):
            x, weight = ctx.saved_tensors
            of_x, of_weight = dy @ weight, (dy.t() @ x) * 1
        current.wait_stream(own)
        for t in (of_x, of_weight):
            t.record_stream(current)
        return of_x, of_weight


class Product(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.norm = nn.Parameter(torch.randn(5, 6)), nn.BatchNorm1d(5)

    def forward(self, x):
        return self.norm(GoesBackOnItsOwnStream.apply(x, self.weight))


def norms():
    return nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Linear(5, 5), nn.BatchNorm1d(5))


KINDS = {"norms": lambda: OnItsOwnStream(norms()), "two": lambda: OnItsOwnStream(norms(), nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5))),
         "backward": lambda: OnItsOwnStream(Product())}


def batches(device):
    torch.manual_seed(2)
    return [(torch.randn(n, 6).to(device), torch.randn(n, 3).to(device)) for n in ROWS]


def loss_of(model, batch):
    return F.mse_loss(model(batch[0]), batch[1])


class ModulesTest(unittest.TestCase):
    def test_batch_norms_on_streams_of_their_own(self):
        for name, kind in KINDS.items():
            torch.manual_seed(1)
            alone = kind().cuda()
            train("call", alone, torch.optim.SGD(alone.parameters(), lr=0.05), batches("cuda"), loss_of)
            for mode, form in itertools.product(MODES, FORMS):
                with self.subTest(name, mode=mode, form=form):
                    torch.manual_seed(1)
                    model = kind().cuda()
                    wrapper = tandem.DataParallel(model, mode=mode)
                    train(form, wrapper, make_optimizer(form, wrapper, torch.optim.SGD, lr=0.05), batches("cuda"), loss_of)
                    for found, wanted in zip(model.state_dict().values(), alone.state_dict().values(), strict=True):
                        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


class Waits(nn.Module):
    """Its forward on the first GPU waits until it is let go on."""

    def __init__(self):
        super().__init__()
        self.layer, self.has_come, self.goes_on = nn.Linear(4, 2), threading.Event(), threading.Event()

    def forward(self, x):
        if x.get_device() == 0:
            self.has_come.set()
            self.goes_on.wait(30)
        return self.layer(x)


class CallersTest(unittest.TestCase):
    def test_a_call_beside_one_on_another_stream_is_refused_and_one_on_the_same_is_not(self):
        waits = Waits().cuda()
        first, second = tandem.DataParallel(waits), tandem.DataParallel(nn.Linear(4, 2).cuda())
        x, other = torch.ones(8, 4, device="cuda"), torch.cuda.Stream()
        other.wait_stream(torch.cuda.current_stream())
        found = []
        callers = [threading.Thread(target=lambda: found.append(first(x)))]
        callers[0].start()
        waits.has_come.wait(30)
        with torch.cuda.stream(other), self.assertRaisesRegex(
            tandem.InvalidArgument, r"current stream on cuda:0 is .*, but another call is under way there on .*; call after the other has ended"
        ):
            second(x)
        callers.append(threading.Thread(target=lambda: found.append(second(x))))
        callers[1].start()
        waits.goes_on.set()
        for caller in callers:
            caller.join(30)
        self.assertEqual(len(found), 2)
        other.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(other):
            torch.testing.assert_close(second(x), second.module(x))
        torch.cuda.current_stream().wait_stream(other)
        torch.testing.assert_close(second(x), second.module(x))


if __name__ == "__main__":
    unittest.main()
