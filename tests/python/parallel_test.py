# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The functions of tandem.parallel: those of torch.nn.parallel, on virtual devices."""

import collections
import unittest

import models
import tandem
import tandem.parallel
import torch
from torch import nn

Pair = collections.namedtuple("Pair", "first second")
tandem.register_devices()
ONE, TWO = torch.device("tandem:0"), torch.device("tandem:1")


class ScatterTest(unittest.TestCase):
    def test_a_tensor(self):
        x = torch.arange(5.0, requires_grad=True)
        parts = tandem.parallel.scatter(x, [1, "tandem:0"])
        self.assertEqual([(part.tolist(), part.device) for part in parts], [([0, 1, 2], TWO), ([3, 4], ONE)])
        (parts[0].cpu().sum() + 2 * parts[1].cpu().sum()).backward()
        self.assertEqual(x.grad.tolist(), [1, 1, 1, 2, 2])

    def test_rows_on_their_own_device_are_no_copies(self):
        x = torch.zeros(4, device=ONE)
        tandem.parallel.scatter(x, [0, 1])[0].fill_(1)
        self.assertEqual(x.tolist(), [1, 1, 0, 0])

    def test_a_nest(self):
        x = torch.arange(6).reshape(2, 3)
        parts = tandem.parallel.scatter({"pair": Pair(x, [x, "text"]), "empty": ()}, [0, 1, 2], dim=1)
        self.assertEqual(len(parts), 3)
        for i, part in enumerate(parts):
            self.assertIsInstance(part["pair"], Pair)
            self.assertEqual(part["pair"].first.tolist(), [[i], [3 + i]])
            self.assertEqual(part["pair"].second[0].device.index, i)
            self.assertEqual((part["pair"].second[1], part["empty"]), ("text", ()))

    def test_fewer_rows_than_devices(self):
        parts = tandem.parallel.scatter((torch.ones(2), 7), [0, 1, 2])
        self.assertEqual([(len(x), number) for x, number in parts], [(1, 7), (1, 7)])


class GatherTest(unittest.TestCase):
    def test_tensors_and_their_gradients(self):
        a, b = torch.ones(1, 2, device=ONE, requires_grad=True), torch.ones(2, 2, device=TWO, requires_grad=True)
        for target, device in ((1, TWO), (-1, torch.device("cpu")), ("cpu", torch.device("cpu")), (ONE, ONE)):
            with self.subTest(target):
                whole = tandem.parallel.gather([a, b], target)
                self.assertEqual((whole.shape, whole.device), ((3, 2), device))
        (whole * torch.arange(6.0, device=ONE).reshape(3, 2)).sum().backward()
        self.assertEqual((a.grad.tolist(), b.grad.tolist()), ([[0, 1]], [[2, 3], [4, 5]]))

    def test_scalars_become_a_vector(self):
        self.assertEqual(tandem.parallel.gather([torch.tensor(1.0), torch.tensor(2.0)], 0).tolist(), [1, 2])

    def test_a_nest(self):
        outputs = [{"pair": Pair([torch.ones(1, 2, device=d)], None)} for d in (ONE, TWO)]
        whole = tandem.parallel.gather(outputs, 0, dim=1)
        self.assertIsInstance(whole["pair"], Pair)
        self.assertEqual((whole["pair"].first[0].shape, whole["pair"].second), ((1, 4), None))

    def test_nests_that_differ_are_refused(self):
        x = torch.ones(1)
        for outputs in (({"a": x}, {"a": x, "b": x}), ((x, x), (x,))):
            with self.subTest(outputs), self.assertRaisesRegex(ValueError, "entries on the devices"):
                tandem.parallel.gather(outputs, 0)


class ReplicateTest(unittest.TestCase):
    def test_copies_give_what_the_module_gives_and_it_gets_their_gradients(self):
        model, alone = models.double(models.Mlp)
        x = torch.randn(4, 6, dtype=torch.float64)
        copies = tandem.parallel.replicate(model, [0, "tandem:1"])
        self.assertEqual([next(copy.parameters()).device for copy in copies], [ONE, TWO])
        (copies[0](x[:2].to(ONE)).sum().cpu() + copies[1](x[2:].to(TWO)).sum().cpu()).backward()
        alone(x).sum().backward()
        for own, expected in zip(model.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(own.grad, expected.grad)

    def test_the_copy_on_the_modules_device_shares_its_memory(self):
        norm = nn.BatchNorm1d(2).to(ONE)
        own, other = tandem.parallel.replicate(norm, [0, 1])
        for copy in (own, other):
            copy(torch.ones(4, 2, device=copy.running_mean.device))
        self.assertEqual(norm.num_batches_tracked.item(), 1)
        self.assertEqual(norm.running_mean.tolist(), own.running_mean.tolist())

    def test_tied_parameters_stay_tied(self):
        model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        model[1].weight = model[0].weight
        copy = tandem.parallel.replicate(model, [1])[0]
        self.assertIs(copy[0].weight, copy[1].weight)

    def test_detached(self):
        copy = tandem.parallel.replicate(models.Mlp(), [1], detach=True)[0]
        self.assertFalse(any(x.requires_grad for x in copy.parameters()))

    def test_modules_that_keep_their_weights_in_lists(self):
        lstm = nn.LSTM(3, 4, batch_first=True)
        x = torch.randn(2, 5, 3)
        copy = tandem.parallel.replicate(lstm, [1])[0]
        torch.testing.assert_close(copy(x.to(TWO))[0].cpu(), lstm(x)[0])

    def test_a_lazy_module_is_refused(self):
        with self.assertRaisesRegex(RuntimeError, "Modules with uninitialized parameters"):
            tandem.parallel.replicate(nn.LazyLinear(2), [0])
        with self.assertRaisesRegex(RuntimeError, "Modules with uninitialized parameters"):
            tandem.DataParallel(nn.LazyLinear(2))(torch.ones(2, 2))


class Fails(nn.Module):
    def forward(self, x):
        raise KeyError("here")


class ParallelApplyTest(unittest.TestCase):
    def test_devices_by_number_and_by_name(self):
        where = []

        class Where(nn.Module):
            def forward(self, x, scale=1):
                where.append((x, torch.tandem.current_device()))
                return x * scale

        outputs = tandem.parallel.parallel_apply([Where(), Where()], [3, (4,)], [{"scale": 2}, {}], [1, "tandem:0"])
        self.assertEqual(outputs, [6, 4])
        self.assertEqual(sorted(where), [(3, 1), (4, 0)])

    def test_autocast_is_the_callers(self):
        layers = [nn.Linear(2, 2).to(device) for device in (ONE, TWO)]
        with torch.autocast("tandem"):
            outputs = tandem.parallel.parallel_apply(layers, [torch.ones(1, 2, device=d) for d in (ONE, TWO)])
        self.assertEqual([y.dtype for y in outputs], [torch.float16] * 2)

    def test_a_failure_says_where(self):
        with self.assertRaisesRegex(KeyError, "replica 1 on device 1.\nOriginal Traceback[^$]+here"):
            tandem.parallel.parallel_apply([nn.Identity(), Fails()], [1, 2], devices=[0, 1])


class DataParallelTest(unittest.TestCase):
    def test_gives_what_the_module_gives(self):
        model, alone = models.double(models.Mlp)
        model.to(TWO)
        x = torch.randn(5, 6, dtype=torch.float64, requires_grad=True)
        for output, device in ((None, TWO), (0, ONE), (-1, torch.device("cpu"))):
            y = tandem.parallel.data_parallel(model, x, [1, 0, 2], output)
            self.assertEqual(y.device, device)
            torch.testing.assert_close(y.cpu(), alone(x))
        y.square().sum().backward()
        gradient, x.grad = x.grad, None
        alone(x).square().sum().backward()
        torch.testing.assert_close(gradient, x.grad)
        for own, expected in zip(model.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(own.grad.cpu(), expected.grad)

    def test_named_arguments_and_no_arguments(self):
        class Net(nn.Module):
            def forward(self, *inputs, scale=None):
                return scale * 2 if inputs == () and scale is not None else torch.ones(2)

        self.assertEqual(tandem.parallel.data_parallel(Net(), None, [0, 1]).tolist(), [1, 1])
        y = tandem.parallel.data_parallel(Net(), (), [0, 1], module_kwargs={"scale": torch.arange(3.0)})
        self.assertEqual(y.tolist(), [0, 2, 4])

    def test_a_module_elsewhere_is_refused(self):
        with self.assertRaisesRegex(RuntimeError, r"on device tandem:1 \(device_ids\[0\]\) but found one .* on device: cpu"):
            tandem.parallel.data_parallel(models.Mlp(), torch.ones(2, 6), [1, 0])


if __name__ == "__main__":
    unittest.main()
