# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Backwards that are not one for each forward: for each output, of two forwards, and within a backward."""

import copy
import itertools
import time
import unittest

import tandem
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

MODES = ("classic", "server", "sharded", "ddp")


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 2), nn.Linear(4, 3)

    def forward(self, x):
        return self.a(x).square(), self.b(x).square()


class Shared(nn.Module):
    """Uses one part twice, recomputed by backwards of their own, and `plain` times without."""

    def __init__(self, plain=0):
        super().__init__()
        self.part, self.last, self.plain = nn.Linear(4, 4), nn.Linear(4, 2), plain

    def forward(self, x):
        x = x.detach().requires_grad_()
        for _ in range(2):
            x = checkpoint(self.part, x, use_reentrant=True)
        for _ in range(self.plain):
            x = self.part(x)
        return self.last(x)


class GoesBack(nn.Module):
    """Its forward adds a penalty's gradient by a backward of its own."""

    def __init__(self):
        super().__init__()
        self.part = nn.Linear(4, 2)

    def forward(self, x):
        with torch.enable_grad():
            self.part(x).square().sum().backward()
        return self.part(x)


class Dropping(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.weight, self.drop, self.reentrant = nn.Parameter(torch.ones(4)), nn.Dropout(0.5), reentrant

    def forward(self, x):
        return checkpoint(lambda v: self.drop(v * self.weight), x.detach().requires_grad_(), use_reentrant=self.reentrant)


class Norms(nn.Module):
    """A part with a batch norm, recomputed or not."""

    def __init__(self, reentrant, preserve=True):
        super().__init__()
        self.stem, self.part, self.head = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Tanh()), nn.Linear(4, 2)
        self.reentrant, self.preserve = reentrant, preserve

    def forward(self, x):
        return self.head(checkpoint(self.part, self.stem(x), use_reentrant=self.reentrant, preserve_rng_state=self.preserve))


class NormOfSome(nn.Module):
    """A batch norm of the rows that are above 0 at their first place, which may be none."""

    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)

    def forward(self, x):
        return self.stem(x).sum() + self.norm(self.stem(x)[x[:, 0] > 0]).square().sum()


class Masks(nn.Module):
    """Two parts with dropout, recomputed unless `reentrant` is None."""

    def __init__(self, reentrant):
        super().__init__()
        self.weight, self.drop, self.reentrant = nn.Parameter(torch.ones(4)), nn.Dropout(0.5), reentrant

    def part(self, x):
        return self.drop(self.drop(x * self.weight) + x)

    def forward(self, x):
        x = self.drop(x).detach().requires_grad_()
        for _ in range(2):
            x = self.part(x) if self.reentrant is None else checkpoint(self.part, x, use_reentrant=self.reentrant)
        return x


class Late(torch.autograd.Function):
    """Whose backward takes so many seconds."""

    @staticmethod
    def forward(ctx, x, seconds):
        ctx.seconds = seconds
        return x.clone()

    @staticmethod
    def backward(ctx, dy):
        time.sleep(ctx.seconds)
        return dy, None


class LateOnDevice1(nn.Sequential):
    def forward(self, x, seconds=0.0):
        y = super().forward(x)
        return Late.apply(y, seconds) if x.device == torch.device("tandem:1") else y


class BackwardTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.x = torch.randn(7, 4)

    def assert_same_gradients(self, net, alone):
        for (name, p), q in zip(net.named_parameters(), alone.parameters()):
            torch.testing.assert_close(p.grad, q.grad, rtol=0, atol=1e-12, msg=name)

    def test_a_backward_for_each_output(self):
        for mode in MODES:
            with self.subTest(mode):
                net = Heads()
                alone = copy.deepcopy(net)
                for model in (tandem.DataParallel(net, devices="cpu:3", mode=mode), alone):
                    first, second = model(self.x)
                    second.sum().backward()
                    first.sum().backward()
                self.assert_same_gradients(net, alone)

    def test_one_backward_of_forwards_with_few_and_many_rows(self):
        for mode in MODES:
            with self.subTest(mode):
                net = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 4))
                net[2].weight = net[0].weight
                alone = copy.deepcopy(net)
                for model in (tandem.DataParallel(net, devices="cpu:3", mode=mode), alone):
                    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                    model(self.x[:1]).square().sum().backward()
                    optimizer.step()
                    optimizer.zero_grad()
                    (model(self.x[:1]).square().sum() + model(self.x).square().sum() + model(self.x[:2]).square().sum()).backward()
                self.assert_same_gradients(net, alone)

    def test_a_write_to_parameters_before_the_backward_is_told(self):
        def update(model, wrapper):
            torch.optim.SGD(model.parameters(), lr=0.1).step()

        def update_and_evaluate(model, wrapper):
            update(model, wrapper)
            with torch.no_grad():
                wrapper(torch.ones(1, 4))

        def load(model, wrapper):
            model.load_state_dict({name: value + 1 for name, value in model.state_dict().items()})

        def step(model, wrapper):
            wrapper.step(torch.ones(2, 4), lambda replica, part: replica(part).sum(), torch.optim.SGD(model.parameters(), lr=0.1))

        for mode, write, rows in itertools.product(MODES, (update, update_and_evaluate, load, step), (1, 7)):
            with self.subTest(mode=mode, write=write.__name__, rows=rows):
                model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))
                wrapper = tandem.DataParallel(model, mode=mode)
                x = torch.ones(rows, 4)
                wrapper(x).sum().backward()
                y = wrapper(x)
                write(model, wrapper)
                model.zero_grad()
                self.assertRaisesRegex(RuntimeError, "modified by an inplace operation", y.sum().backward)
                model.zero_grad()
                wrapper(x).sum().backward()
                found = [p.grad.clone() for p in model.parameters()]
                model.zero_grad()
                model(x.to(model[0].weight.device)).sum().backward()
                for own, p in zip(found, model.parameters(), strict=True):
                    torch.testing.assert_close(own, p.grad)

    def test_norms_of_two_forwards_meet_in_one_order(self):
        for mode in MODES:
            for attempt in range(15):  # which forward a device came to first was up to its threads
                with self.subTest(mode, attempt=attempt):
                    net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.LayerNorm(6), nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Tanh())
                    alone = copy.deepcopy(net)
                    for model in (tandem.DataParallel(net, devices="cpu:4", mode=mode), alone):
                        (model(self.x).square().sum() + 2 * model(self.x[:5]).square().sum()).backward()
                    self.assert_same_gradients(net, alone)

    def test_devices_that_come_to_forwards_in_different_orders_are_told(self):
        net = LateOnDevice1(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 6), nn.BatchNorm1d(6))
        model = tandem.DataParallel(net, devices="cpu:2")
        alone = copy.deepcopy(net)
        told = 0
        for _ in range(20):
            net.zero_grad()
            first = model(self.x, seconds=0.2)
            second = Late.apply(model(self.x).to("tandem:2"), 0.1).cpu()  # on a thread of its own
            try:
                (second.sum() + first.square().sum()).backward()
            except RuntimeError as error:
                self.assertRegex(str(error), r"rank \d \(cpu:\d\) has call .* compute the losses in the order of their forwards")
                told += 1
                break
            alone.zero_grad()
            (alone(self.x).sum() + alone(self.x).square().sum()).backward()
            self.assert_same_gradients(net, alone)
        self.assertEqual(told, 1)
        for each in (model, alone):
            each.zero_grad()
            each(self.x[1:]).square().sum().backward()
        self.assert_same_gradients(net, alone)

    def test_backwards_within_a_steps(self):
        for make in (Shared, lambda: Shared(plain=1), GoesBack):
            for mode in MODES:
                with self.subTest(mode, net=type(make()).__name__):
                    net = make()
                    alone = copy.deepcopy(net)
                    model = tandem.DataParallel(net, devices="cpu:3", mode=mode)
                    for _ in range(2):
                        model.step(self.x, lambda replica, part: (replica(part).square().sum(), len(part)))
                        (alone(self.x).square().sum() / 7).backward()
                    self.assert_same_gradients(net, alone)

    def test_a_hook_after_accumulation_keeps_steps_away_until_it_is_removed(self):
        net = nn.Linear(4, 2)
        alone = copy.deepcopy(net)
        model = tandem.DataParallel(net, devices="cpu:2")
        hook = net.weight.register_post_accumulate_grad_hook(lambda p: None)
        with self.assertRaisesRegex(tandem.InvalidArgument, "'weight' has a hook that runs after its gradient was accumulated"):
            model.step(self.x, lambda replica, part: replica(part).sum())
        hook.remove()
        model.step(self.x, lambda replica, part: (replica(part).sum(), len(part)))
        (alone(self.x).sum() / 7).backward()
        self.assert_same_gradients(net, alone)

    def test_recomputation_draws_the_masks_of_the_forward(self):
        for reentrant in (False, True):
            with self.subTest(reentrant=reentrant):
                net = Dropping(reentrant)
                y = tandem.DataParallel(net, devices="cpu:3")(torch.ones(7, 4))
                y.sum().backward()
                torch.testing.assert_close(net.weight.grad, y.detach().sum(0))

    def test_recomputed_batch_norms_see_all_rows(self):
        for reentrant in (False, True):
            for mode in MODES:
                for how in ("step",) if reentrant else ("step", "backward"):
                    with self.subTest(mode, reentrant=reentrant, how=how):
                        torch.manual_seed(1)
                        net = Norms(reentrant)
                        alone = copy.deepcopy(net)
                        model = tandem.DataParallel(net, devices="cpu:4", mode=mode)
                        for _ in range(3):  # one device has one row
                            x = torch.randn(5, 4)
                            if how == "step":
                                model.step(x, lambda replica, part: (replica(part).square().sum(), len(part)))
                            else:
                                (model(x).square().sum() / 5).backward()
                            (alone(x).square().sum() / 5).backward()
                        self.assert_same_gradients(net, alone)
                        torch.testing.assert_close(net.part[1].running_mean, alone.part[1].running_mean)
                        self.assertEqual(net.part[1].num_batches_tracked, alone.part[1].num_batches_tracked)

    def test_a_batch_norm_in_a_reentrant_checkpoint_is_refused_at_once(self):
        model = tandem.DataParallel(Norms(True), devices="cpu:3", deadline=60.0)
        for _ in range(2):  # the second as the first
            begin = time.monotonic()
            with self.assertRaisesRegex(RuntimeError, "use_reentrant=True .* give the checkpoint use_reentrant=False"):
                model(torch.randn(6, 4)).sum().backward()
            self.assertLess(time.monotonic() - begin, 30)
        model.step(torch.randn(6, 4), lambda replica, x: (replica(x).sum(), len(x)))

    def test_a_batch_norm_in_a_backward_on_one_thread_is_refused_at_once(self):
        for recomputed in (False, None):
            net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)) if recomputed is None else Norms(recomputed)
            alone = copy.deepcopy(net)
            model = tandem.DataParallel(net, devices="cpu:3", deadline=60.0)
            for _ in range(2):
                begin = time.monotonic()
                with self.assertRaisesRegex(
                    RuntimeError, r"set_multithreading_enabled\(False\).* call backward where multithreading is enabled"
                ), torch.autograd.set_multithreading_enabled(False):
                    model(self.x).square().sum().backward()
                self.assertLess(time.monotonic() - begin, 30)
            net.zero_grad()
            for each in (model, alone):
                each(self.x).square().sum().backward()
            self.assert_same_gradients(net, alone)

    def test_dropout_by_row_goes_back_on_one_thread(self):
        net = Dropping(False)
        y = tandem.DataParallel(net, devices="cpu:3", dropout="by_row")(torch.ones(7, 4))
        with torch.autograd.set_multithreading_enabled(False):
            y.sum().backward()
        torch.testing.assert_close(net.weight.grad, y.detach().sum(0))

    def test_a_batch_norm_that_is_computed_again_at_no_known_place_is_refused(self):
        x = torch.randn(6, 4)
        for reentrant in (True, False):
            net = Norms(reentrant, preserve=False)
            model = tandem.DataParallel(net, devices="cpu:3", deadline=60.0)
            for call in (lambda m=model: m(x).sum().backward(), lambda m=model: m.step(x, lambda replica, x: (replica(x).sum(), len(x)))):
                with self.subTest(reentrant=reentrant), self.assertRaisesRegex(RuntimeError, "preserve_rng_state=False .* leave preserve_rng_state at True"):
                    call()
            tandem.DataParallel(net, devices="cpu:3", batch_norm="per_replica")(x).sum().backward()

    def test_a_batch_norm_of_one_device_is_computed_again_anywhere(self):
        for reentrant in (True, False):
            net = Norms(reentrant, preserve=False)
            alone, x = copy.deepcopy(net), torch.randn(6, 4)
            alone(x).square().sum().backward()
            model = tandem.DataParallel(net, devices="cpu:1")
            model(x).square().sum().backward()
            for own, p in zip(net.parameters(), alone.parameters(), strict=True):
                torch.testing.assert_close(own.grad.cpu(), p.grad)

    def test_a_batch_norm_of_no_values_moves_no_statistics(self):
        for kind in ("synchronised", "per_replica"):
            for some in (0, 1):  # whether the first device has values
                with self.subTest(kind, some=some):
                    torch.manual_seed(1)
                    net = NormOfSome()
                    alone = copy.deepcopy(net)
                    model = tandem.DataParallel(net, devices="cpu:2", batch_norm=kind)
                    x = -torch.ones(6, 4)
                    x[: 3 * some] = torch.rand(3 * some, 4) + 1
                    model.step(x, lambda replica, part: (replica(part), len(part)))
                    alone(x)
                    for name, value in alone.norm.named_buffers():
                        torch.testing.assert_close(net.norm.get_buffer(name), value, msg=name)

    def test_recomputation_draws_the_masks_by_row(self):
        gradients = []
        for reentrant in (None, False, True):
            for devices in (1, 3):
                torch.manual_seed(2)
                net = Masks(reentrant)
                model = tandem.DataParallel(net, devices=f"cpu:{devices}", dropout="by_row")
                model(self.x).square().sum().backward()
                gradients.append(net.weight.grad)
        for gradient in gradients[1:]:
            torch.testing.assert_close(gradient, gradients[0])

    def test_recomputation_leaves_the_programs_random_numbers(self):
        drawn = []
        for wrap in (lambda net: net, lambda net: tandem.DataParallel(net, devices="cpu:4", batch_norm="per_replica")):
            torch.manual_seed(3)
            model = wrap(Norms(False))
            for _ in range(10):
                model(torch.randn(12, 4)).sum().backward()
            drawn.append(torch.randn(4))
        self.assertTrue(torch.equal(*drawn))


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    tandem.configure_devices("cpu:4")
    unittest.main()
