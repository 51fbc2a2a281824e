# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem.Optimizer is an optimizer of PyTorch, whose update the devices share."""

import copy
import unittest

import models
import tandem
import torch
from torch import optim

KINDS = {
    optim.SGD: {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    optim.Adam: {"lr": 0.01, "weight_decay": 0.01},
    optim.AdamW: {"lr": 0.01, "betas": (0.8, 0.99)},
    optim.RMSprop: {"lr": 0.01, "momentum": 0.5, "centered": True},
    optim.Adagrad: {"lr": 0.1, "lr_decay": 0.01},
    optim.NAdam: {"lr": 0.01, "weight_decay": 0.01, "decoupled_weight_decay": True},
    optim.RAdam: {"lr": 0.01, "betas": (0.8, 0.9), "weight_decay": 0.01},
    optim.Adadelta: {"lr": 0.5, "rho": 0.8, "weight_decay": 0.01},
}


class OptimizerTest(unittest.TestCase):
    def setUp(self):
        tandem.configure_devices("cpu:3")

    def test_trains_as_one_device_does(self):
        for kind, options in KINDS.items():
            for mode in ("classic", "server", "sharded", "ddp"):
                with self.subTest(kind=kind.__name__, mode=mode):
                    model, alone = models.double(models.Mlp)
                    wrapper = tandem.DataParallel(model, mode=mode)
                    shared = tandem.Optimizer(wrapper, kind, **options)
                    own = kind(alone.parameters(), **options)
                    for step in range(6):
                        x, y = models.batch_of(model, 7, step)
                        if step % 2:  # a loop as for one device
                            loss = models.train_alone(wrapper, shared, x, y)
                        else:
                            loss = wrapper.step((x, y), models.mean_loss, shared).loss
                        self.assertAlmostEqual(loss, models.train_alone(alone, own, x, y), delta=1e-12)
                    self.assertLessEqual(models.difference(model, alone), 1e-12)

    def test_freezes_and_thaws_as_one_device_does(self):
        def train(model, optimizer, has_gradient):
            """States after some steps, during which a parameter with or without a gradient is frozen."""
            states = []

            def update(seed):
                models.loss_of(model(models.batch_of(alone, 7, seed)[0]), models.batch_of(alone, 7, seed)[1]).backward()
                optimizer.step()
                states.append(copy.deepcopy(optimizer.state_dict()))

            update(0)
            optimizer.zero_grad()
            frozen = next(model.parameters())
            if has_gradient:  # which an optimizer still uses
                update(1)
            frozen.requires_grad_(False)
            update(2)
            optimizer.zero_grad()
            update(3)
            frozen.requires_grad_(True)
            update(4)
            return states

        for kind in (optim.SGD, optim.AdamW):
            for mode in ("classic", "server", "sharded", "ddp"):
                for has_gradient in (False, True):
                    with self.subTest(kind=kind.__name__, mode=mode, has_gradient=has_gradient):
                        model, alone = models.double(models.Mlp)
                        wrapper = tandem.DataParallel(model, mode=mode)
                        shared = tandem.Optimizer(model, kind, **KINDS[kind])
                        own = kind(alone.parameters(), **KINDS[kind])
                        x, y = models.batch_of(model, 7, 9)
                        wrapper.step((x, y), models.mean_loss, shared)
                        wrapper.zero_grad()
                        models.train_alone(alone, own, x, y)
                        own.zero_grad()
                        states = train(wrapper, shared, has_gradient)
                        torch.testing.assert_close(states, train(alone, own, has_gradient), rtol=1e-11, atol=1e-12)
                        self.assertLessEqual(models.difference(model, alone), 1e-12)

    def test_a_parameter_that_is_thawed_after_the_first_steps(self):
        for kind, options in KINDS.items():
            with self.subTest(kind=kind.__name__):
                model, alone = models.double(models.Mlp)
                for net in (model, alone):
                    next(net.parameters()).requires_grad_(False)
                wrapper = tandem.DataParallel(model, mode="sharded")
                shared, own = tandem.Optimizer(model, kind, **options), kind(alone.parameters(), **options)
                for step in range(4):
                    x, y = models.batch_of(model, 7, step)
                    wrapper.step((x, y), models.mean_loss, shared)
                    models.train_alone(alone, own, x, y)
                    torch.testing.assert_close(shared.state_dict(), own.state_dict(), rtol=1e-11, atol=1e-12)
                    if step == 1:
                        for net in (model, alone):
                            next(net.parameters()).requires_grad_(True)
                self.assertLessEqual(models.difference(model, alone), 1e-12)

    def test_either_loads_the_state_of_the_other(self):
        for kind, options in KINDS.items():
            with self.subTest(kind=kind.__name__):
                model, alone = models.double(models.Mlp)
                wrapper = tandem.DataParallel(model, mode="sharded")
                shared = tandem.Optimizer(model.parameters(), kind, **options)
                own = kind(alone.parameters(), **options)
                for step in range(3):
                    x, y = models.batch_of(model, 7, step)
                    wrapper.step((x, y), models.mean_loss, shared)
                    models.train_alone(alone, own, x, y)
                ours, theirs = copy.deepcopy(shared.state_dict()), copy.deepcopy(own.state_dict())
                self.assertEqual(ours["param_groups"], theirs["param_groups"])
                self.assertEqual(ours["state"].keys(), theirs["state"].keys())
                for number, state in theirs["state"].items():
                    self.assertEqual(ours["state"][number].keys(), state.keys())
                    for name, value in state.items():
                        torch.testing.assert_close(ours["state"][number][name], value, rtol=1e-12, atol=1e-12)
                # Two that start anew with the other's state go on alike.
                shared = tandem.Optimizer(model.parameters(), kind, lr=1.0)
                own = kind(alone.parameters(), lr=1.0)
                shared.load_state_dict(theirs)
                own.load_state_dict(ours)
                for step in range(3, 6):
                    x, y = models.batch_of(model, 7, step)
                    wrapper.step((x, y), models.mean_loss, shared)
                    models.train_alone(alone, own, x, y)
                # PyTorch keeps NAdam's product of momenta in f32 until it loads a state, and in f64 after.
                allowed = 1e-11 if kind is optim.NAdam else 1e-12
                self.assertLessEqual(models.difference(model, alone), allowed)

    def test_is_an_optimizer_of_its_class(self):
        optimizer = tandem.Optimizer(models.Mlp(), optim.AdamW, lr=0.5)
        self.assertIsInstance(optimizer, optim.AdamW)
        self.assertIsInstance(optimizer, tandem.Optimizer)
        self.assertEqual(optimizer.param_groups[0]["lr"], 0.5)
        self.assertTrue(repr(optimizer).startswith("AdamW ("))

    def test_schedulers_and_groups(self):
        model, alone = models.double(models.Mlp)
        wrapper = tandem.DataParallel(model, mode="ddp")

        def groups(module):
            return [{"params": module[0].parameters(), "lr": 0.3}, {"params": module[2].parameters()}]

        shared = tandem.Optimizer(groups(model), optim.SGD, lr=0.1)
        own = optim.SGD(groups(alone), lr=0.1)
        schedulers = [optim.lr_scheduler.StepLR(o, 1, gamma=0.5) for o in (shared, own)]
        for step in range(4):
            x, y = models.batch_of(model, 7, step)
            with self.assertNoLogs(), self.subTest(step):
                wrapper.step((x, y), models.mean_loss, shared)
            models.train_alone(alone, own, x, y)
            for scheduler in schedulers:
                scheduler.step()
        self.assertLessEqual(models.difference(model, alone), 1e-12)

    def test_clipping(self):
        model, alone = models.double(models.Mlp)
        wrapper = tandem.DataParallel(model, mode="sharded")
        shared, own = tandem.Optimizer(model, optim.Adam, lr=0.1), optim.Adam(alone.parameters(), lr=0.1)
        for step in range(4):
            x, y = models.batch_of(model, 7, step)
            for net, optimizer in ((wrapper, shared), (alone, own)):
                optimizer.zero_grad()
                models.loss_of(net(x), y).backward()
                torch.nn.utils.clip_grad_norm_(net.parameters(), 0.01)
                optimizer.step()
        self.assertLessEqual(models.difference(model, alone), 1e-12)

    def test_grad_scaler(self):
        for home in ("cpu", "tandem:0"):
            with self.subTest(home):
                model, alone = models.double(models.Mlp)
                wrapper = tandem.DataParallel(model.to(home), mode="sharded")
                shared, own = tandem.Optimizer(model, optim.Adam, lr=0.1), optim.Adam(alone.parameters(), lr=0.1)
                scalers = [torch.amp.GradScaler(name, init_scale=2.0**10) for name in (home.split(":")[0], "cpu")]
                for step in range(4):
                    x, y = models.batch_of(alone, 7, step)
                    if step == 1:
                        x[5, 2] = float("inf")
                    for net, optimizer, scaler in zip((wrapper, alone), (shared, own), scalers):
                        optimizer.zero_grad()
                        output = net(x)
                        scaler.scale(models.loss_of(output, y.to(output.device))).backward()
                        scaler.unscale_(optimizer)
                        torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
                        scaler.step(optimizer)
                        scaler.update()
                    self.assertEqual(*(scaler.get_scale() for scaler in scalers))
                self.assertEqual(scalers[0].get_scale(), 2.0**9)
                self.assertLessEqual(models.difference(model.to("cpu"), alone), 1e-12)

    def test_what_it_cannot_share_is_refused(self):
        model = models.Mlp()
        with self.assertRaisesRegex(tandem.InvalidArgument, "LBFGS does not treat each element alike"):
            tandem.Optimizer(model, optim.LBFGS)
        wrapper = tandem.DataParallel(model)
        batch = models.batch_of(models.Mlp(), 6, 0)
        batch = (batch[0].float(), batch[1])
        for options, text in (({"amsgrad": True}, "amsgrad is on"), ({"maximize": True}, "maximize is on")):
            with self.subTest(options), self.assertRaisesRegex(tandem.InvalidArgument, text):
                wrapper.step(batch, models.mean_loss, tandem.Optimizer(model, optim.Adam, **options))
        other = tandem.Optimizer(models.Mlp(), optim.SGD)
        with self.assertRaisesRegex(tandem.InvalidArgument, "is not one of the wrapped module's"):
            wrapper.step(batch, models.mean_loss, other)


if __name__ == "__main__":
    unittest.main()
