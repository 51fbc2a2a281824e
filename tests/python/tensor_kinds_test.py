# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors of a module that are not plain parameters of f32: complex ones, buffers that train, sparse gradients, unused parameters."""

import copy
import unittest

import tandem
import torch
from torch import nn


class Complex(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 2, dtype=torch.complex128).t())  # no dense rows
        self.phase = nn.Parameter(torch.tensor(1 + 2j, dtype=torch.complex128))
        self.register_buffer("shift", torch.tensor([[1j, 2, 3]], dtype=torch.complex128))  # of one row

    def forward(self, x):
        return (torch.complex(x, x) @ self.weight * self.phase.conj() + self.shift).abs()


class Trained(nn.Module):
    """Its scale is a buffer that requires grad."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.randn(2, dtype=torch.float64).requires_grad_())
        self.register_buffer("shift", torch.randn(2, dtype=torch.float64))

    def forward(self, x):
        return x * self.scale + self.shift


class Words(nn.Embedding):
    def __init__(self):
        super().__init__(7, 3, sparse=True, dtype=torch.float64)


class Bags(nn.EmbeddingBag):
    mode_of_bags = "sum"

    def __init__(self):
        super().__init__(7, 3, mode=self.mode_of_bags, sparse=True, dtype=torch.float64)

    def forward(self, words):
        return super().forward(words.reshape(-1, 1).expand(-1, 2) * torch.tensor([1, 0], device=words.device))


class MeansOfBags(Bags):
    mode_of_bags = "mean"


def numbers(seed):
    return torch.randn(5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def words(seed):
    return torch.randint(7, (5,), generator=torch.Generator().manual_seed(seed))


def loss_of(outputs):
    return outputs.square().mean()


def tensors_of(module):
    return [x for x in [*module.parameters(), *module.buffers()] if x.requires_grad]


class TensorKindsTest(unittest.TestCase):
    def setUp(self):
        tandem.configure_devices("cpu:3")
        tandem.register_devices()
        torch.manual_seed(0)

    def check(self, make, batch, home):
        """Some steps of both kinds are those of one device."""
        with torch.device(home):
            model = make()
        alone = make()
        alone.load_state_dict(model.state_dict())
        wrapper = tandem.DataParallel(model, chunk_sizes=[1, 2, 2])
        optimizer, reference = (torch.optim.SGD(tensors_of(m), lr=0.1) for m in (model, alone))
        for step in range(6):
            for own in (optimizer, reference):
                own.zero_grad()
            if step % 3 == 2:
                loss = wrapper.step(batch(step), lambda replica, x: loss_of(replica(x)), optimizer).loss
            else:
                outputs = loss_of(wrapper(batch(step)))
                outputs.backward()
                optimizer.step()
                loss = outputs.item()
            expected = loss_of(alone(batch(step)))
            expected.backward()
            reference.step()
            self.assertAlmostEqual(loss, expected.item(), delta=1e-12)
        for x, y in zip(tensors_of(model), tensors_of(alone), strict=True):
            self.assertLessEqual((x.cpu() - y).abs().max().item(), 1e-12)

    def test_train_as_on_one_device(self):
        for make, batch in ((Complex, numbers), (Trained, numbers), (Words, words), (Bags, words), (MeansOfBags, words)):
            for home in ("cpu", "tandem:0"):
                with self.subTest(make.__name__, home=home):
                    self.check(make, batch, home)

    def test_complex_inputs_and_outputs(self):
        x = torch.randn(4, 2, dtype=torch.complex64, requires_grad=True)
        y = tandem.DataParallel(nn.Linear(2, 2, dtype=torch.complex64), devices="cpu:2")(x)
        self.assertEqual((y.dtype, y.shape), (torch.complex64, (4, 2)))
        y.abs().sum().backward()
        self.assertEqual(x.grad.dtype, torch.complex64)

    def test_lazy_conjugates_and_negatives_on_a_device(self):
        x = torch.tensor([1 + 2j, 3 - 4j], device="tandem:1")
        self.assertEqual(x.conj().clone().resolve_conj().tolist(), [1 - 2j, 3 + 4j])
        self.assertEqual((x.conj().cpu().tolist(), x.conj().imag.clone().tolist()), ([1 - 2j, 3 + 4j], [-2, 4]))

    def test_hooks_get_complex_gradients(self):
        model = Complex()
        kinds = []
        model.weight.register_hook(lambda gradient: kinds.append((gradient.dtype, gradient.shape)))
        wrapper = tandem.DataParallel(model)
        loss_of(wrapper(numbers(0))).backward()
        wrapper.step(numbers(0), lambda replica, x: loss_of(replica(x)))
        self.assertEqual(kinds, [(torch.complex128, (2, 3))] * 2)

    def test_a_buffer_may_begin_and_end_to_train(self):
        model = Trained()
        wrapper = tandem.DataParallel(model)
        for trains in (False, True, False, True):
            model.scale.requires_grad_(trains)
            model.scale.grad = None
            outputs = wrapper(numbers(0))
            self.assertEqual(outputs.requires_grad, trains)
            if trains:
                outputs.sum().backward()
                torch.testing.assert_close(model.scale.grad, numbers(0).sum(0))

    def test_a_buffer_that_was_computed(self):
        scale = torch.ones(2, dtype=torch.float64, requires_grad=True)
        model = Trained()
        model.scale = scale.to("tandem:0") * 2
        wrapper = tandem.DataParallel(model.to("tandem:0"))
        model.scale.retain_grad()
        wrapper(numbers(0)).sum().backward()
        torch.testing.assert_close(scale.grad, 2 * numbers(0).sum(0))
        retained = model.scale.grad
        wrapper.sync()
        self.assertIs(model.scale.grad, retained)
        with self.assertRaisesRegex(ValueError, "'scale' was computed from tensors that require grad"):
            wrapper.step(numbers(0), lambda replica, x: replica(x).sum())

    def test_sparse_gradients_stay_sparse(self):
        for make in (Words, Bags):
            model, alone = make(), make()
            tandem.DataParallel(model)(words(0)).sum().backward()
            alone(words(0)).sum().backward()
            self.assertTrue(model.weight.grad.is_sparse)
            self.assertTrue(torch.equal(model.weight.grad.to_dense(), alone.weight.grad.to_dense()))

    def test_a_dense_tensor_of_a_device_may_become_sparse(self):
        x = torch.eye(3)
        there = x.to("tandem:1").to_sparse()
        self.assertEqual((there.device, there.is_coalesced()), (torch.device("tandem:1"), True))
        self.assertTrue(torch.equal(there.to_dense().cpu(), x))
        self.assertTrue(torch.equal(torch.sparse.mm(there, x.to("tandem:1")).cpu(), x))

    def test_unused_parameters(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.used, self.unused = nn.Linear(2, 2), nn.Linear(2, 2)

            def forward(self, x):
                return self.used(x)

        x = torch.ones(4, 2)
        for options, has_zeros in (({}, True), ({"unused_gradients": "zeros"}, True), ({"unused_gradients": "none"}, False)):
            model = Net()
            wrapper = tandem.DataParallel(model, **options)
            with self.subTest(options):
                wrapper(x).sum().backward()
                self.assertTrue(model.used.weight.grad.any())
                gradient = model.unused.weight.grad
                self.assertEqual(None if gradient is None else gradient.tolist(), [[0, 0], [0, 0]] if has_zeros else None)
                wrapper.zero_grad()
                wrapper.step(x, lambda replica, part: replica(part).sum())
                self.assertIsNone(model.unused.weight.grad)

    def test_frozen_parameters_get_nothing(self):
        model = nn.Linear(2, 2)
        model.bias.requires_grad_(False)
        tandem.DataParallel(model)(torch.ones(4, 2)).sum().backward()
        self.assertIsNone(model.bias.grad)

    def test_half(self):
        model = nn.Linear(4, 3).half()
        alone = copy.deepcopy(model)
        x = torch.randn(6, 4).half()
        y = tandem.DataParallel(model)(x)
        y.sum().backward()
        alone(x).sum().backward()
        self.assertTrue(torch.equal(y, alone(x)))
        torch.testing.assert_close(model.weight.grad, alone.weight.grad, atol=2e-3, rtol=2e-3)


class Last(nn.Module):
    """The outputs of a recurrent network, without its state, which has its rows in another dimension."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        self.network.flatten_parameters()
        return self.network(x)[0]


class ReplicaTest(unittest.TestCase):
    """What a replica says and keeps."""

    def test_zero_grad_warns(self):
        seen = []

        class Net(nn.Linear):
            def forward(self, x):
                with unittest.TestCase().assertWarnsRegex(UserWarning, "has no effect"):
                    self.zero_grad()
                seen.append(len(list(self.parameters())))
                return super().forward(x)

        model = Net(2, 2)
        wrapper = tandem.DataParallel(model, devices="cpu:1")
        wrapper(torch.ones(2, 2)).sum().backward()
        wrapper(torch.ones(2, 2)).sum().backward()
        self.assertEqual((model.weight.grad.tolist(), seen), ([[4, 4], [4, 4]], [2, 2]))

    def test_recurrent_networks(self):
        for make in (nn.LSTM, nn.GRU, nn.RNN):
            with self.subTest(make.__name__):
                model = Last(make(3, 4, 2, batch_first=True, bidirectional=True, dtype=torch.float64))
                alone = copy.deepcopy(model)
                x = torch.randn(5, 6, 3, dtype=torch.float64)
                outputs = tandem.DataParallel(model, devices="cpu:2")(x)
                torch.testing.assert_close(outputs, alone(x))
                outputs.sum().backward()
                alone(x).sum().backward()
                for own, expected in zip(model.parameters(), alone.parameters(), strict=True):
                    torch.testing.assert_close(own.grad, expected.grad)

    def test_parameters_of_lists_are_results_of_the_modules(self):
        found = []

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.list = nn.ParameterList([torch.ones(2), torch.ones(2)])
                self.dict = nn.ParameterDict({"a": torch.ones(2)})

            def forward(self, x):
                parts = [*self.list, self.list[1], self.dict["a"]]
                found.extend(p.grad_fn is not None and p.device == x.device for p in parts)
                return x * sum(parts)

        tandem.DataParallel(Net(), devices="cpu:2")(torch.ones(2, 2))
        self.assertEqual(found, [True] * 8)

    def test_no_cycles_are_left(self):
        import gc

        gc.collect()
        wrapper = tandem.DataParallel(nn.Linear(1, 1), devices="cpu:2")
        wrapper(torch.ones(3, 1))
        self.assertEqual(gc.collect(), 0)


if __name__ == "__main__":
    unittest.main()
