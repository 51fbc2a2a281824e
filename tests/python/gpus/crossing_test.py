# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Kinds of modules and options of the wrapper, crossed with modes and forms of training, on PyTorch's GPUs: the results are one device's."""

import copy
import itertools
import unittest

import torch
from forms import FORMS, make_optimizer, train
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import tandem

MODES = ["server", "classic", "sharded", "ddp"]
ROWS = [8, 7, 3, 1, 12]  # uneven, and fewer than GPUs


class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(6, 3)
        self.register_buffer("scale", torch.full((3,), 1.5))
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.calls += 1
        return self.out(x) * self.scale


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.out = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 3)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.out(torch.tanh(self.b(torch.tanh(self.a(x)))))


class Frozen(Tied):
    def __init__(self):
        super().__init__()
        self.a.requires_grad_(False)
        self.b.weight.requires_grad_(False)


class Embedded(nn.Module):
    def __init__(self, sparse=False):
        super().__init__()
        self.table, self.out = nn.Embedding(10, 6, sparse=sparse), nn.Linear(6, 3)

    def forward(self, x):
        return self.out(self.table((x.abs() * 3).long().clamp(0, 9)[:, 0]))


class Recomputed(nn.Module):
    def __init__(self):
        super().__init__()
        self.part, self.out = nn.Sequential(nn.Linear(6, 6), nn.Tanh()), nn.Linear(6, 3)

    def forward(self, x):
        return self.out(checkpoint(self.part, x, use_reentrant=False))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells, self.out = nn.GRU(6, 5, batch_first=True), nn.Linear(5, 3)

    def forward(self, x):
        return self.out(self.cells(x[:, None, :])[0][:, 0])


class Unused(nn.Module):
    def __init__(self):
        super().__init__()
        self.out, self.other = nn.Linear(6, 3), nn.Linear(6, 3)

    def forward(self, x):
        return self.out(x)


def normalised():
    return nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6), nn.Linear(6, 3))


KINDS = {"buffers": Buffers, "tied": Tied, "frozen": Frozen, "embedding": Embedded, "sparse": lambda: Embedded(sparse=True),
         "recomputed": Recomputed, "recurrent": Recurrent, "unused": Unused, "normalised": normalised}
OPTIONS = [{"accumulate": 2}, {"gpu0_bsz": 1}, {"non_finite_loss": "error"}, {"non_finite_gradients": "skip"}, {"check_drift_every": 1},
           {"on_oom": "replan"}, {"deadline": 30.0}, {"straggler_ratio": 5.0}, {"unused_gradients": "zeros"}]


def make(kind):
    torch.manual_seed(3)
    return kind()


def batches(device):
    torch.manual_seed(4)
    return [(torch.randn(n, 6).to(device), torch.randn(n, 3).to(device)) for n in ROWS]


def loss_of(model, batch):
    return F.mse_loss(model(batch[0]), batch[1])


def trained(form, wrapper, optimizer):
    train(form, wrapper, optimizer, batches("cuda"), loss_of)
    return list(wrapper.module.state_dict().values())


def of_one_device(kind, momentum):
    model = make(kind)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=momentum)
    for batch in batches("cpu"):
        optimizer.zero_grad()
        loss_of(model, batch).backward()
        optimizer.step()
    return list(model.state_dict().values())


class CrossingTest(unittest.TestCase):
    def check(self, found, expected, tolerance=1e-4):
        for x, y in zip(found, expected, strict=True):
            torch.testing.assert_close(x.detach().cpu(), y.detach().cpu(), rtol=tolerance, atol=tolerance)

    def test_kinds_of_modules(self):
        for name, kind in KINDS.items():
            momentum = 0.0 if name == "sparse" else 0.9
            expected = of_one_device(kind, momentum)
            for mode, form in itertools.product(MODES, FORMS):
                with self.subTest(name, mode=mode, form=form):
                    model = make(kind).cuda()
                    wrapper = tandem.DataParallel(model, mode=mode)
                    optimizer = make_optimizer(form, wrapper, torch.optim.SGD, lr=0.1, momentum=momentum)
                    self.check(trained(form, wrapper, optimizer), expected)

    def test_options(self):
        expected = of_one_device(normalised, 0.9)
        for options, mode in itertools.product(OPTIONS, MODES):
            with self.subTest(mode=mode, **options):
                model = make(normalised).cuda()
                wrapper = tandem.DataParallel(model, mode=mode, **options)
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
                self.check(trained("step", wrapper, optimizer), expected)

    def test_a_gradient_penalty(self):
        for mode in MODES:
            results = []
            for wrap in (lambda model: model, lambda model: tandem.DataParallel(model, mode=mode)):  # noqa: B023
                model = make(Tied).cuda()
                wrapper = wrap(model)
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                for x, y in batches("cuda"):
                    x.requires_grad_()
                    out = wrapper(x)
                    (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
                    optimizer.zero_grad()
                    (F.mse_loss(out, y) + slope.pow(2).mean()).backward()
                    optimizer.step()
                results.append(list(model.state_dict().values()))
            with self.subTest(mode):
                self.check(*results)

    def test_values_that_the_program_writes_between_calls(self):
        model = make(normalised).cuda()
        wrapper = tandem.DataParallel(model)
        x = batches("cuda")[0][0]
        for change in (
            lambda: None,
            lambda: [p.data.mul_(2) for p in model.parameters()],  # which counts as no write
            lambda: model.load_state_dict({name: value + 0.5 for name, value in model.state_dict().items()}),
            lambda: setattr(model[0], "weight", nn.Parameter(torch.ones(6, 6, device="cuda"))),
        ):
            change()
            self.check([wrapper(x)], [model(x)])
        self.check([copy.deepcopy(wrapper)(x)], [model(x)])

    def test_dropout_draws_anew_by_the_seed(self):
        wrapper = tandem.DataParallel(nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5)).cuda())
        x = torch.ones(8, 6, device="cuda")
        torch.manual_seed(7)
        first = wrapper(x)
        second = wrapper(x)
        torch.manual_seed(7)
        self.assertTrue(torch.equal(wrapper(x), first))
        self.assertFalse(torch.equal(first, second))
        self.assertTrue(0 < (first == 0).sum() < first.numel())

    def test_evaluation_half_precision_and_clipped_gradients(self):
        norm = nn.Sequential(nn.Linear(6, 3), nn.BatchNorm1d(3)).cuda().eval()
        x = batches("cuda")[0][0]
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                self.check([tandem.DataParallel(norm).eval()(x)], [norm(x)])
        results = []
        for wrap in (lambda model: model, tandem.DataParallel):
            model = make(normalised).half().cuda()
            wrapper = wrap(model)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for x, y in batches("cuda"):
                optimizer.zero_grad()
                loss_of(wrapper, (x.half(), y.half())).backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                optimizer.step()
            results.append(list(model.state_dict().values()))
        self.check(*results, tolerance=2e-2)


if __name__ == "__main__":
    unittest.main()
