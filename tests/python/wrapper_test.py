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
from torch.utils import _pytree


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

    def test_its_text_says_how_it_trains(self):
        for options, text in (({}, "mode=sharded, backend=local"), ({"mode": "server", "backend": "local"}, "mode=server, backend=local")):
            self.assertIn(f"  devices=cpu:0,cpu:1,cpu:2, {text}\n  (module): Mlp(", repr(tandem.DataParallel(models.Mlp(), **options)))

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

    def test_tensors_in_rows_go_to_the_device_of_their_row(self):
        seen = []

        def function(w, images, targets):
            found = [*images, *(target["boxes"] for target in targets), *(x for target in targets for x in target["pair"].first)]
            seen.extend(x.device == w.device for x in found)
            self.assertEqual(targets[0]["shared"], shared)
            return w * torch.stack([image.sum() + target["boxes"].sum() for image, target in zip(images, targets)])

        shared = Named(1, 2)
        images = [torch.full((3, i + 1), float(i), requires_grad=True) for i in range(7)]
        targets = [{"boxes": torch.ones(i, 4), "pair": Pair([torch.ones(())]), "shared": shared} for i in range(7)]
        y = tandem.DataParallel(Calls(function))(tandem.rows(images), tandem.rows(tuple(targets)))
        self.assertEqual(y.tolist(), [3 * (i + 1) * i + 4 * i for i in range(7)])
        self.assertEqual(seen, [True] * 21)
        y.sum().backward()
        self.assertTrue(all(torch.equal(image.grad, torch.ones_like(image)) for image in images))
        wrapper = tandem.DataParallel(Calls(lambda w, images: w * sum(image.sum() for image in images)))
        result = wrapper.step({"images": tandem.rows(images)}, lambda replica, part: (replica(part["images"]), len(part["images"])))
        self.assertAlmostEqual(result.loss, sum(3 * (i + 1) * i for i in range(7)) / 7, places=5)

    def test_classes_that_pytree_knows_are_split(self):
        class Graph:
            def __init__(self, nodes, name):
                self.nodes, self.name = nodes, name

        _pytree.register_pytree_node(Graph, lambda graph: ([graph.nodes], graph.name), lambda parts, name: Graph(*parts, name))

        def function(w, graph, queue, user):
            self.assertEqual((graph.name, queue.maxlen, type(user)), ("g", 3, collections.UserDict))
            self.assertEqual(len(graph.nodes), len(queue[0]))
            return graph.nodes * w + queue[0] + user["x"]

        x = torch.arange(7.0)
        y = tandem.DataParallel(Calls(function))(Graph(x, "g"), collections.deque([x, "text"], 3), collections.UserDict(x=x))
        self.assertTrue(torch.equal(y, 3 * x))
        plain = collections.deque(["text"])
        tandem.DataParallel(Calls(lambda w, x, queue: self.assertIs(queue, plain) or x * w))(x, plain)

    def test_rows_that_differ_are_refused_in_pythons_words(self):
        wrapper = tandem.DataParallel(Calls(lambda w, *args, **kwargs: w))
        x, y = torch.ones(3, 1), torch.ones(4, 1)
        for arguments, named, texts in (
                ((x, y), {}, (r"argument 0 \(Float \[3, 1\] on cpu, dimension 0\) has 3 rows", r"argument 1 \(.*\) has 4 rows")),
                ((x,), {"labels": {"a": [y]}}, (r"argument 'labels'\['a'\]\[0\] \(Float",)),
                ((x, Pair(x, y)), {}, (r"argument 1\.first \(", r"argument 1\.second \(")),
                ((x, tandem.rows("abcd")), {}, (r"argument 1 \(tandem.rows of a list\) has 4 rows", "tandem.replicate")),
                ((tandem.split(x, 2),), {}, (r"argument 0 \(.*\) has no dimension 2; name .* tandem.split",))):
            for text in texts:
                with self.subTest(text), self.assertRaisesRegex(tandem.InvalidArgument, text):
                    wrapper(*arguments, **named)
        for batch, text in (({"x": x, "y": y}, r"batch\['x'\] .* batch\['y'\]"), ((x, [y]), r"batch\[1\]\[0\]"),
                            (Pair(x, y), r"batch\.second")):
            with self.subTest(text), self.assertRaisesRegex(tandem.InvalidArgument, text):
                wrapper.step(batch, lambda replica, part: replica())

    def test_no_devices_are_refused(self):
        for name, given in (("devices", []), ("devices", ""), ("device_ids", []), ("device_ids", ())):
            with self.subTest(name, given=given), self.assertRaisesRegex(tandem.InvalidArgument, f"{name} is .*, which lists no device"):
                tandem.DataParallel(models.Mlp(), **{name: given})

    def test_a_parameter_without_elements_trains(self):
        class Empty(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(3, 2)
                self.none = nn.Parameter(torch.zeros(0, 4))

            def forward(self, x):
                return self.body(x) + self.none.sum()

        model = Empty()
        wanted = model(torch.ones(5, 3)).detach()
        wrapper = tandem.DataParallel(model, devices="cpu:2", deadline=20.0)
        for _ in range(2):
            out = wrapper(torch.ones(5, 3))
            torch.testing.assert_close(out.detach().cpu(), wanted)
            out.sum().backward()
        self.assertEqual(model.none.grad.shape, (0, 4))

    def test_a_weight_keeps_all_bits(self):
        x = torch.arange(1.0, 8.0, dtype=torch.float64)
        for weight, total in ((lambda part: len(part) * 0.1, 0.7), (lambda part: 2**24 + len(part), 3 * 2**24 + 7)):
            model = Calls(lambda w, part: (part * w).sum()).double()
            result = tandem.DataParallel(model).step(x, lambda replica, part: (replica(part), weight(part)))
            self.assertAlmostEqual(result.loss * total, 28, delta=1e-12)
            self.assertAlmostEqual(model.weight.grad.item() * total, 28, delta=1e-12)

    def test_num_items_in_batch(self):
        """Losses of models that divide their sum by it, and of models that do not look at it, are those of one device."""
        labels = torch.tensor([1, -100, 2, 0, -100, -100, 3])

        def divides(w, x, labels, num_items_in_batch):
            return {"loss": (x[:, 0] * (labels != -100)).sum() * w / num_items_in_batch}

        def ignores(w, x, labels, num_items_in_batch):
            return {"loss": (x[:, 0] * w).mean()}

        x = torch.randn(7, 2, dtype=torch.float64)
        for function in (divides, ignores):
            for scalars, rows in (("weighted_mean", 7), ("mean", 6), ("sum", 7)):
                for items in (4, torch.tensor(4), torch.tensor(4.0)):
                    if scalars == "sum" and function is ignores:
                        continue
                    batch = {"labels": labels[:rows], "num_items_in_batch": items}
                    model, alone = Calls(function).double(), Calls(function).double()
                    loss = tandem.DataParallel(model, scalars=scalars)(x[:rows], **batch)["loss"]
                    expected = alone(x[:rows], **batch)["loss"]
                    loss.backward()
                    expected.backward()
                    with self.subTest(function.__name__, scalars=scalars, items=items):
                        self.assertAlmostEqual(loss.item(), expected.item(), delta=1e-12)
                        self.assertAlmostEqual(model.weight.grad.item(), alone.weight.grad.item(), delta=1e-12)

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

    def test_modules_of_torch_compile_are_refused(self):
        def compiled():
            model = models.Mlp()
            model.compile(backend="eager")
            return model

        x = torch.ones(4, 6)
        for module, name in ((torch.compile(models.Mlp(), backend="eager"), "the module"), (nn.Sequential(compiled()), "'0'")):
            with self.subTest(name):
                self.assertRaisesRegex(tandem.InvalidArgument, f"{name} was compiled by torch.compile", tandem.DataParallel(module), x)
        model = nn.Sequential(models.Mlp())
        wrapper = tandem.DataParallel(model)
        wrapper(x)
        model[0].compile(backend="eager")  # which changes no table of the module
        for call in (lambda: wrapper(x), lambda: wrapper.step(x, lambda replica, part: replica(part).sum())):
            self.assertRaisesRegex(tandem.InvalidArgument, "'0' was compiled by torch.compile", call)
        model[0]._compiled_call_impl = None
        wrapper(x)

    def test_wrong_options_are_refused(self):
        for options, text in (({"gpu0_bsz": "many"}, "gpu0_bsz is 'many', but an int is wanted"),
                              ({"mode": "fast"}, "mode is 'fast'; give one of 'classic'"),
                              ({"backend": "nccl"}, "^DataParallel: backend is nccl: cpu:0 is not a GPU, but NCCL needs GPUs; use backend local"),
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
