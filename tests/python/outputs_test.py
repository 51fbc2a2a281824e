# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What replicas return is joined by its structure, or refused by name where it cannot be."""

import collections
import dataclasses
import unittest

import numpy
import tandem
import torch
from torch import nn
from torch.utils import _pytree


class Cache:
    """Made of what it iterates over, as the caches of language models are."""

    def __init__(self, layers=()):
        self.layers = list(layers)

    def __iter__(self):
        return iter(self.layers)


class Box:
    def __init__(self, value):
        self.value = value


class Known(Box):
    """PyTorch's pytree knows it."""


_pytree.register_pytree_node(Known, lambda box: ([box.value], "of one"), lambda parts, _: Known(next(iter(parts))))


@dataclasses.dataclass
class Pair:
    first: torch.Tensor
    second: object


class Returns(nn.Module):
    """Returns f(x * w)."""

    def __init__(self, function):
        super().__init__()
        self.w = nn.Parameter(torch.ones(()))
        self.function = function

    def forward(self, x):
        return self.function(x * self.w)


X = torch.arange(14.0).reshape(7, 2)


def returned(function, x=X, **options):
    return tandem.DataParallel(Returns(function), **options)(x)


class OutputsTest(unittest.TestCase):
    def setUp(self):
        tandem.configure_devices("cpu:3")

    def refused(self, text, function, **options):
        with self.assertRaisesRegex(tandem.InvalidArgument, text):
            returned(function, **options)

    def test_objects_are_made_of_joined_parts(self):
        out = returned(lambda y: {"cache": Cache([(y, -y), (2 * y, None)]), "deque": collections.deque([y, 3], maxlen=2),
                                  "known": Known(y), "user": collections.UserDict(a=y, b="text")})
        self.assertIsInstance(out["cache"], Cache)
        self.assertTrue(torch.equal(out["cache"].layers[0][1], -X) and out["cache"].layers[1][1] is None)
        self.assertEqual((type(out["deque"]), out["deque"].maxlen, out["deque"][1]), (collections.deque, 2, 3))
        self.assertTrue(torch.equal(out["deque"][0], X))
        self.assertTrue(torch.equal(out["known"].value, X))
        self.assertTrue(torch.equal(out["user"]["a"], X) and out["user"]["b"] == "text")

    def test_gradients_go_through_objects(self):
        model = Returns(lambda y: Cache([Known(y), collections.deque([y])]))
        out = tandem.DataParallel(model)(X)
        (out.layers[0].value.sum() + out.layers[1][0].square().sum()).backward()
        self.assertEqual(model.w.grad.item(), X.sum().item() + 2 * X.square().sum().item())

    def test_objects_that_differ_are_refused(self):
        for name, make in (("Box", Box), ("Normal", lambda y: torch.distributions.Normal(y, 1.0)),
                           ("ndarray", lambda y: y.detach().cpu().numpy()), ("set", lambda y: {len(y)}),
                           ("set", lambda y: {y}), ("range", lambda y: range(len(y))), ("function", lambda y: lambda: y),
                           ("device", lambda y: y.device), ("map", lambda y: map(len, [y])), ("Linear", lambda y: nn.Linear(1, 1))):
            with self.subTest(name):
                self.refused(rf"gather: output\[1\] is a {name} in replica 0 and another one in replica 1; return its tensors",
                             lambda y: (y, make(y)))
        for value in (lambda y: len(y), lambda y: complex(len(y)), lambda y: bytes(len(y)), lambda y: f"{len(y)} rows"):
            self.refused(r"output\['a'\]\.second is .* in replica 0 and .* in replica 1; return the same value",
                         lambda y: {"a": Pair(y, value(y))})

    def test_objects_that_are_equal_are_returned(self):
        shared = Box(1)
        self.assertIs(returned(lambda y: (y, shared))[1], shared)
        for value in (frozenset({1, 2}), 2 + 3j, b"text", range(4), float("nan"), collections.Counter(a=1), torch.float32, None):
            with self.subTest(value):
                self.assertEqual(repr(returned(lambda y: (y, value))[1]), repr(value))
        self.assertTrue((returned(lambda y: (y, numpy.arange(3)))[1] == numpy.arange(3)).all())

    def test_a_cache_whose_class_refuses_the_parts(self):
        class Two(Cache):
            def __init__(self, layers, more):
                super().__init__(layers)

        self.refused("an output is a Two, which cannot be made of the replicas' parts", lambda y: Two([y], 1))

    def test_numbers_in_a_cache(self):
        out = returned(lambda y: Cache([(y, torch.tensor(4, device=y.device))]))
        self.assertEqual(out.layers[0][1].item(), 4)
        self.refused(r"output\[0\]\[1\] is a Scalar in replica 0", lambda y: Cache([(y, torch.tensor(len(y), device=y.device))]))

    def test_dicts_are_joined_by_key(self):
        for kind in (dict, collections.OrderedDict, collections.UserDict):
            with self.subTest(kind.__name__):
                out = returned(lambda y: kind({"a": y, "b": -y} if len(y) == 3 else {"b": -y, "a": y}))
                self.assertEqual(list(out), ["a", "b"])
                self.assertTrue(torch.equal(out["a"], X) and torch.equal(out["b"], -X))
                self.refused(r"output is with the keys \('y', 'of 3'\) in replica 0 and \('y', 'of 2'\) in replica 1",
                             lambda y: kind({"y": y, f"of {len(y)}": -y}))
                self.refused("return the same keys", lambda y: kind({"y": y} | ({"more": y} if len(y) == 3 else {})))

    def test_other_structures_are_refused(self):
        for text, odd in ((r"output\[0\] is Tensor in replica 0 and None in", lambda y: (None,)),
                          (r"output is tuple in replica 0 and list in", lambda y: [y]),
                          (r"output is of 1 elements in replica 0 and of 2 in", lambda y: (y, y)),
                          (r"output is tuple in replica 0 and Tensor in", lambda y: y)):
            with self.subTest(text):
                self.refused(text, lambda y: (y,) if len(y) == 3 else odd(y))

    def test_marks(self):
        out = returned(lambda y: {"state": tandem.split(y.t(), 1), "texts": tandem.rows([str(int(v)) for v in y[:, 0]])})
        self.assertTrue(torch.equal(out["state"], X.t()))
        self.assertEqual(out["texts"], [str(int(v)) for v in X[:, 0]])
        self.refused("marked by tandem.replicate", lambda y: (y, {"table": tandem.replicate(torch.ones(3))}))
        self.refused("split along dimension 1 in replica 0 and along dimension 0", lambda y: tandem.split(y, int(len(y) == 3)))
        self.assertTrue(torch.equal(returned(lambda y: (y, tandem.split(y.t(), 0)), X.t(), dim=1)[1], X))

    def test_lists_by_rows_may_hold_tensors_of_any_size(self):
        model = Returns(lambda y: tandem.rows([{"boxes": row.sum() * torch.ones(int(row[0]) % 3, 4, device=y.device)} for row in y]))
        out = tandem.DataParallel(model)(X)
        self.assertEqual([len(one["boxes"]) for one in out], [int(row[0]) % 3 for row in X])
        self.assertEqual({one["boxes"].device.type for one in out}, {"cpu"})
        sum(one["boxes"].sum() for one in out).backward()
        self.assertEqual(model.w.grad.item(), sum(row.sum().item() * 4 * (int(row[0]) % 3) for row in X))

    def test_refused_outputs_leave_everything_as_it_was(self):
        class Net(Returns):
            def __init__(self, function):
                super().__init__(function)
                self.norm = nn.BatchNorm1d(2)

            def forward(self, x):
                return super().forward(nn.functional.dropout(self.norm(x)))

        for make in (lambda y: y[:, : len(y) - 1], lambda y: (y, object()), lambda y: (y, len(y)), lambda y: {str(len(y)): y}):
            model = Net(make)
            before, seed = [x.clone() for x in model.state_dict().values()], torch.get_rng_state()
            with self.assertRaisesRegex(tandem.InvalidArgument, "gather: ") as caught:
                tandem.DataParallel(model, chunk_sizes=[3, 2, 2])(X)
            self.assertFalse(hasattr(caught.exception, "failure"))
            self.assertTrue(all(map(torch.equal, before, model.state_dict().values())))
            self.assertTrue(torch.equal(seed, torch.get_rng_state()))

    def test_go_to_pytorchs_cpu(self):
        tandem.register_devices()
        for device in ("cpu", torch.device("cpu"), -1):
            wrapper = tandem.DataParallel(nn.Linear(2, 2).to("tandem:0"), device_ids=[0, 1], output_device=device)
            y = wrapper(X)
            self.assertEqual((y.device.type, wrapper.output_device), ("cpu", -1))
            y.sum().backward()
            self.assertEqual(wrapper.module.weight.grad.device, torch.device("tandem:0"))


if __name__ == "__main__":
    unittest.main()
