# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A replica's exception arrives as it was thrown, says where it comes from, and leaves nothing behind."""

import contextlib
import gc
import traceback
import unittest
import weakref

import models
import tandem
import torch
from torch import nn


class Refused(Exception):
    pass


class Refuses(nn.Module):
    """Throws for a row above a limit."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x):
        if x.max() > 5:
            raise Refused("too much", x.max().item())
        return x * self.weight


class Throws(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.fails = x.max() > 5
        return x * 1

    @staticmethod
    def backward(ctx, dy):
        if ctx.fails:
            raise Refused("backward")
        return dy


class ThrowsBackward(Refuses):
    def forward(self, x):
        return Throws.apply(x * self.weight)


def square(replica, part):
    return replica(part).square().mean()


class ErrorsTest(unittest.TestCase):
    def setUp(self):
        tandem.configure_devices("cpu:3")

    def test_keeps_class_arguments_and_traceback(self):
        wrapper = tandem.DataParallel(nn.Sequential(nn.Identity(), Refuses()))
        x = torch.arange(6.0).reshape(6, 1).expand(6, 2) + 1
        try:
            wrapper(x)
        except Refused as e:
            error, trace = e, "".join(traceback.format_tb(e.__traceback__))
        self.assertEqual(error.args, ("too much", 6.0))
        self.assertIn("raise Refused", trace)
        failure = error.failure
        self.assertEqual((failure.replica, failure.device, failure.rows, failure.phase, failure.module),
                         (2, "cpu:2", (4, 6), "forward", "1"))
        self.assertEqual(error.__notes__,
                         ["tandem: in replica 2 on cpu:2, phase forward, rows 4 to 5, in '1'"])

    def test_of_an_op_are_pytorchs(self):
        wrapper = tandem.DataParallel(models.Mlp())
        with self.assertRaisesRegex(RuntimeError, "shapes cannot be multiplied") as caught:
            wrapper(torch.ones(6, 5))
        self.assertEqual(caught.exception.failure.module, "0")
        with self.assertRaises(IndexError):
            tandem.DataParallel(nn.Embedding(3, 2))(torch.full((6,), 7))

    def test_of_a_loss_and_of_backward(self):
        x = torch.arange(6.0).reshape(6, 1).expand(6, 2) + 1
        wrapper = tandem.DataParallel(ThrowsBackward())
        with self.assertRaisesRegex(Refused, "backward") as caught:
            wrapper.step(x, lambda replica, part: replica(part).sum())
        self.assertEqual(caught.exception.failure.phase, "backward")
        with self.assertRaisesRegex(Refused, "backward"):
            wrapper(x).sum().backward()
        with self.assertRaisesRegex(tandem.InvalidArgument, "returned a str"):
            wrapper.step(x, lambda replica, part: "loss")

    def test_of_a_collective_that_another_replica_stopped_are_no_causes(self):
        class Fails(nn.Module):
            def __init__(self, how):
                super().__init__()
                self.norm, self.how = nn.BatchNorm1d(2), how

            def inner(self, x):
                if x.max() > 5:
                    raise Refused("the cause")
                return self.norm(x)

            def forward(self, x):
                if self.how == "gradient" and x.max() < 5:
                    y = self.norm(x.requires_grad_())
                    return y + torch.autograd.grad(y.square().sum(), x)[0]
                try:
                    return self.inner(self.norm(x) * 0 + x if self.how == "gradient" else x)
                except RuntimeError as e:
                    raise KeyError("a consequence") from e

        x = torch.arange(6.0).reshape(6, 1).expand(6, 2) + 1
        for how in ("wrapped", "gradient"):
            wrapper = tandem.DataParallel(Fails(how))
            for call in (lambda: wrapper(x), lambda: wrapper.step(x, lambda replica, part: replica(part).square().mean())):
                with self.subTest(how), self.assertRaisesRegex(Refused, "the cause") as caught:
                    call()
                self.assertEqual((caught.exception.failure.replica, caught.exception.failure.others), (2, []))
        bare = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2, track_running_stats=False))
        with self.assertRaisesRegex(ValueError, "more than 1 value per channel"):
            tandem.DataParallel(bare, devices="cpu:4")(torch.randn(5, 2))

    def test_of_hooks_of_gradients(self):
        def refuse(gradient):
            raise error("in a hook")

        for error in (Refused, KeyboardInterrupt):
            for mode in ("classic", "server", "sharded", "ddp"):
                for rows in (1, 6):
                    with self.subTest(error=error.__name__, mode=mode, rows=rows):
                        model = models.Mlp()
                        wrapper = tandem.DataParallel(model, mode=mode)
                        optimizer = tandem.Optimizer(model, torch.optim.SGD, lr=0.1)
                        x = torch.randn(rows, 6)
                        before = {name: x.clone() for name, x in model.state_dict().items()}
                        hook = model[0].weight.register_hook(refuse)
                        for step in (lambda: wrapper.step(x, square), lambda: wrapper.step(x, square, optimizer)):
                            with self.assertRaisesRegex(error, "in a hook"):
                                step()
                        for name, x in model.state_dict().items():
                            self.assertTrue(torch.equal(x, before[name]), name)
                        self.assertIsNone(model[0].weight.grad)
                        hook.remove()
                        wrapper.step(torch.ones(rows, 6), square, optimizer)

    def test_of_a_part_that_is_computed_again(self):
        class Recomputed(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.norm, self.refuses = nn.Linear(4, 4), nn.BatchNorm1d(4), False

            def part(self, x):
                if self.refuses and torch._C._current_graph_task_id() >= 0:
                    raise Refused("in backward")
                return self.norm(self.layer(x))

            def forward(self, x):
                return torch.utils.checkpoint.checkpoint(self.part, x, use_reentrant=False)

        for mode in ("classic", "server", "sharded", "ddp"):
            with self.subTest(mode):
                net = Recomputed()
                wrapper = tandem.DataParallel(net, devices="cpu:2", mode=mode)
                x = torch.randn(6, 4)
                for refuses in (True, False, True, True, False):
                    net.refuses = refuses
                    with self.assertRaisesRegex(Refused, "in backward") if refuses else contextlib.nullcontext():
                        wrapper.step(x, square)
                del wrapper  # whose threads end without an exception of their own

    def test_a_failed_step_has_no_effect(self):
        model = nn.Sequential(nn.BatchNorm1d(2), Refuses())
        wrapper = tandem.DataParallel(model)
        optimizer = tandem.Optimizer(model, torch.optim.AdamW, lr=0.1)
        good, bad = torch.randn(6, 2), torch.full((6, 2), 100.0)

        def loss(replica, part):
            if part.max() > 50:
                raise Refused("after the batch norm", replica(part * 0).sum().item())
            return replica(part).square().mean()

        wrapper.step(good, loss, optimizer)
        before = {name: x.clone() for name, x in model.state_dict().items()}
        state = optimizer.state_dict()
        seed = torch.get_rng_state()
        with self.assertRaises(Refused):
            wrapper.step(bad, loss, optimizer)
        for name, x in model.state_dict().items():
            self.assertTrue(torch.equal(x, before[name]), name)
        torch.testing.assert_close(optimizer.state_dict(), state, rtol=0, atol=0)
        self.assertTrue(torch.equal(torch.get_rng_state(), seed))
        wrapper.step(good, loss, optimizer)

    def test_out_of_memory_is_pytorchs_and_the_device_works_on(self):
        wrapper = tandem.DataParallel(models.Mlp())
        wrapper(torch.ones(6, 6))
        tandem.set_limit("cpu:1", tandem.memory_stats("cpu:1").in_use + 1000)
        try:
            with self.assertRaisesRegex(torch.OutOfMemoryError, "cpu:1.*parameter"):
                wrapper(torch.ones(60000, 6))
            self.assertEqual(len(wrapper(torch.ones(6, 6))), 6)
        finally:
            tandem.set_limit("cpu:1", None)

    def test_nothing_is_left_of_a_thousand_failed_calls(self):
        wrapper = tandem.DataParallel(Refuses())
        x = torch.full((6, 2), 9.0)

        class Marker(list):
            pass

        def fail():
            marker = Marker()
            kept = weakref.ref(marker)
            try:
                wrapper.step((x, marker), lambda replica, part: replica(part[0]).sum())
            except Refused:
                pass
            return kept

        for _ in range(20):
            kept = fail()
        gc.collect()
        self.assertIsNone(kept())
        objects = len(gc.get_objects())
        in_use = [tandem.memory_stats(f"cpu:{i}").in_use for i in range(3)]
        for _ in range(1000):
            kept = fail()
        self.assertIsNone(kept())
        gc.collect()
        self.assertLess(len(gc.get_objects()) - objects, 50)
        self.assertEqual([tandem.memory_stats(f"cpu:{i}").in_use for i in range(3)], in_use)


if __name__ == "__main__":
    unittest.main()
