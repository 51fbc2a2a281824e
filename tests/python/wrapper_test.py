# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What tandem.DataParallel shows a program that was written for torch.nn.DataParallel."""

import collections
import copy
import dataclasses
import unittest

import models
import tandem
import torch
from torch import nn


@dataclasses.dataclass(frozen=True)
class Pair:
    first: torch.Tensor
    second: torch.Tensor | None = None
    name: str = ""


class Named(collections.namedtuple("Named", "sum rows")):
    __slots__ = ()


class Ordered(collections.OrderedDict):
    """As the outputs of other libraries are: a dict whose entries are attributes too."""

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        super().__setattr__(name, value)


class Calls(nn.Module):
    """Returns f(x, ...) of a function that it is given."""

    def __init__(self, function):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(self.weight, *args, **kwargs)


class WrapperTest(unittest.TestCase):
    def setUp(self):
        tandem.configure_devices("cpu:3")

    def test_is_a_data_parallel(self):
        tandem.register_devices()
        model = models.Mlp().to("tandem:0")
        wrapper = tandem.DataParallel(model, device_ids=[0, 1], output_device=1, dim=0)
        self.assertIsInstance(wrapper, nn.DataParallel)
        self.assertIs(wrapper.module, model)
        self.assertEqual((wrapper.device_ids, wrapper.output_device, wrapper.dim), ([0, 1], 1, 0))
        self.assertEqual(list(wrapper.state_dict()), ["module." + name for name in model.state_dict()])
        self.assertEqual(wrapper(torch.ones(4, 6)).device, torch.device("tandem:1"))

    def test_outputs_are_where_the_module_is(self):
        self.assertEqual(tandem.DataParallel(models.Mlp())(torch.ones(4, 6)).device.type, "cpu")
        on_device = tandem.DataParallel(models.Mlp()).to("tandem:0")
        self.assertEqual(on_device(torch.ones(4, 6)).device, torch.device("tandem:0"))

    def test_an_optimizer_made_before_goes_on(self):
        model = models.Mlp()
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        wrapper = tandem.DataParallel(model)
        before = model[0].weight.detach().clone()
        wrapper(torch.ones(4, 6)).sum().backward()
        optimizer.step()
        self.assertTrue(torch.equal(before - model[0].weight.grad, model[0].weight))

    def test_balanced(self):
        rows = []
        wrapper = tandem.BalancedDataParallel(1, Calls(lambda w, x: rows.append(len(x)) or x * w))
        wrapper(torch.ones(9, 2))
        self.assertEqual(sorted(rows), [1, 4, 4])

    def test_nests(self):
        def function(w, x, pair, options, *, scale):
            assert pair.name == "n" and pair.second is None and options["text"] == "t"
            return {
                "tuple": (x * w, [pair.first + options["add"]]),
                "pair": Pair(x * scale, None, "out"),
                "named": Named(x.sum(), len("all")),
                "ordered": Ordered(y=x),
                "none": None,
            }

        x = torch.arange(12.0).reshape(6, 2)
        out = tandem.DataParallel(Calls(function))(x, Pair(-x, None, "n"), {"add": x, "text": "t"}, scale=2)
        self.assertTrue(torch.equal(out["tuple"][0], x))
        self.assertTrue(torch.equal(out["tuple"][1][0], 0 * x))
        self.assertIsInstance(out["pair"], Pair)
        self.assertTrue(torch.equal(out["pair"].first, 2 * x) and out["pair"].name == "out")
        self.assertIsInstance(out["named"], Named)
        self.assertTrue(torch.equal(out["named"].sum, x.reshape(3, -1).sum(1)))  # one for each device
        self.assertIsInstance(out["ordered"], Ordered)
        self.assertTrue(torch.equal(out["ordered"].y, x))
        self.assertIsNone(out["none"])

    def test_marks(self):
        def function(w, x, table, mask, texts):
            assert len(texts) == len(x) and table.shape == (5,)
            return x * w + table.sum() + mask.t(), torch.tensor([float(text) for text in texts], device=x.device)

        x = torch.arange(6.0).reshape(6, 1)
        y, numbers = tandem.DataParallel(Calls(function))(
            x, tandem.replicate(torch.ones(5)), tandem.split(torch.ones(1, 6), 1), tandem.rows(list("012345")))
        self.assertTrue(torch.equal(y, x + 6))
        self.assertTrue(torch.equal(numbers, torch.arange(6.0)))

    def test_a_batch_without_tensors_runs_once(self):
        calls = []
        out = tandem.DataParallel(Calls(lambda w, n: calls.append(n) or w * n))(3)
        self.assertEqual((calls, out.item()), ([3], 3.0))

    def test_fewer_rows_than_devices(self):
        calls = []
        tandem.DataParallel(Calls(lambda w, x: calls.append(len(x)) or x * w))(torch.ones(2, 1))
        self.assertEqual(calls, [1, 1])

    def test_inputs_that_require_grad(self):
        x = torch.ones(5, 6, requires_grad=True)
        model, alone = models.Mlp(), None
        alone = copy.deepcopy(model)
        tandem.DataParallel(model)(x).square().sum().backward()
        expected = torch.autograd.grad(alone(x).square().sum(), x)[0]
        torch.testing.assert_close(x.grad, expected)

    def test_rows_that_differ_are_refused(self):
        with self.assertRaisesRegex(tandem.InvalidArgument, "differ"):
            tandem.DataParallel(Calls(lambda w, x, y: x))(torch.ones(3, 1), torch.ones(4, 1))

    def test_plan_tells_the_rows_of_each_device(self):
        model = tandem.DataParallel(models.Mlp(), gpu0_bsz=1)
        rows = model.plan(7)
        self.assertEqual((rows[0], sum(rows)), (1, 7))
        model(torch.ones(7, 6))
        self.assertEqual(model.plan(7), rows)

    def test_modules_of_torch_jit_are_refused(self):
        def make():
            return nn.Sequential(nn.Linear(6, 3), nn.ReLU())

        x = torch.ones(4, 6)
        for module in (torch.jit.script(make()), torch.jit.trace(make(), x), nn.Sequential(torch.jit.script(make()))):
            with self.subTest(type(module).__name__):
                wrapper = tandem.DataParallel(module)
                for call in (lambda: wrapper(x), lambda: wrapper.step(x, lambda replica, part: replica(part).sum())):
                    self.assertRaisesRegex(tandem.InvalidArgument, "was scripted or traced by torch.jit", call)
        model = nn.Sequential(nn.Linear(6, 6), nn.ReLU())
        wrapper = tandem.DataParallel(model)
        wrapper(x)
        model[1] = torch.jit.script(make())
        self.assertRaisesRegex(tandem.InvalidArgument, "'1' was scripted", wrapper, x)

    def test_wrong_options_are_refused(self):
        for options, text in (({"gpu0_bsz": "many"}, "gpu0_bsz is 'many', but an int is wanted"),
                              ({"mode": "fast"}, "mode is 'fast'; give one of 'classic'"),
                              ({"mod": "server"}, "there is no option 'mod'; there are 'accumulate', .*'gpu0_bsz', .*'mode'")):
            with self.subTest(options), self.assertRaisesRegex(tandem.InvalidArgument, text):
                tandem.DataParallel(models.Mlp(), **options)
        long = "x" * 100000
        for options in ({"mode": long}, {"devices": long}, {"gpu0_bsz": long}, {"chunks": [long]}, {long: 1}):
            with self.assertRaisesRegex(tandem.InvalidArgument, r"xx \[\d+ bytes left out\] ") as caught:
                tandem.DataParallel(models.Mlp(), **options)
            self.assertLess(len(str(caught.exception)), 2100)
        with self.assertRaisesRegex(ValueError, "device_ids and devices"):
            tandem.DataParallel(models.Mlp(), [0], devices="cpu:2")


if __name__ == "__main__":
    unittest.main()
