# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What forwards do to their copies: tensors that they assign, hooks that they register, attributes of tensors, first calls."""

import threading
import unittest

import tandem
import torch
from torch import nn

MODES = ("classic", "server", "sharded", "ddp")


class Assigns(nn.Module):
    """Follows the mean of what it sees by assignment."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.register_buffer("mean", torch.zeros(2))

    def forward(self, x, fails=False):
        self.mean = 0.5 * self.mean + x.mean(0).detach()
        if fails:
            raise ValueError("as planned")
        return self.linear(x) + self.mean


class Registers(nn.Module):
    """Doubles its part's outputs by a hook that its first forward registers."""

    def __init__(self):
        super().__init__()
        self.part, self.is_ready = nn.Linear(2, 2, bias=False), False

    def forward(self, x):
        if not self.is_ready:
            self.part.register_forward_hook(lambda module, inputs, y: 2 * y)
            self.is_ready = True
        return self.part(x)


class Caches(nn.Module):
    """Adds what it has kept of earlier calls, as a language model that generates keeps a cache."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(32, 2), persistent=False)
        self.register_buffer("place", torch.zeros((), dtype=torch.long))
        self.register_buffer("factor", torch.ones(2))  # not written

    def forward(self, x):
        self.cache[self.place] = self.place + 1.0
        self.place += 1
        return x * self.factor + self.cache.sum(0)


class Scaled(nn.Parameter):
    """A class of the program's own."""


class Reads(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = Scaled(torch.ones(1))
        self.weight.factor = 3.0
        self.kinds = []

    def forward(self, x):
        self.kinds.append(type(self.weight))
        return x * self.weight * getattr(self.weight, "factor", 1.0)


class CopiesTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def test_assigned_buffer_is_the_first_devices(self):
        for mode in MODES:
            with self.subTest(mode):
                net = Assigns()
                model = tandem.DataParallel(net, devices="cpu:3", mode=mode)
                x = torch.arange(12.0).reshape(6, 2)
                model(x)
                torch.testing.assert_close(net.mean, x[:2].mean(0))
                model.step(x, lambda m, part: m(part).square().mean())
                torch.testing.assert_close(net.mean, 1.5 * x[:2].mean(0))
                model.eval()
                same = model(torch.ones(6, 2))
                self.assertEqual((same - same[0]).abs().max().item(), 0)

    def test_what_a_forward_writes_in_evaluation_comes_to_the_module(self):
        def run(model, module, step):
            seen = []
            for i, rows in enumerate((5, 1, 2, 4, 3)):
                module.train(i == 3)
                x = torch.arange(2.0 * rows).reshape(rows, 2).to(module.factor.device) + i
                for mode in (torch.no_grad, torch.inference_mode, torch.enable_grad):
                    with mode():
                        seen += [value.clone().cpu() for value in (model(x), module.cache, module.place)]
                step(x)
            return seen

        for mode in MODES:
            with self.subTest(mode):
                alone, module = Caches(), Caches()
                wrapper = tandem.DataParallel(module, mode=mode)
                module.place += 2
                alone.place += 2
                wanted = run(alone, alone, alone)
                found = run(wrapper, module, lambda x: wrapper.step(x, lambda replica, part: replica(part.requires_grad_()).sum()))  # noqa: B023
                for i, (own, right) in enumerate(zip(found, wanted, strict=True)):
                    torch.testing.assert_close(own, right, msg=lambda text: f"value {i}: {text}")  # noqa: B023

    def test_assignment_of_a_failed_call_is_lost(self):
        net = Assigns()
        model = tandem.DataParallel(net, devices="cpu:2")
        with self.assertRaisesRegex(ValueError, "as planned"):
            model(torch.ones(4, 2), fails=True)
        self.assertEqual(net.mean.tolist(), [0, 0])
        model(torch.ones(4, 2))
        self.assertEqual(net.mean.tolist(), [1, 1])

    def test_hooks_of_a_forward_stay_on_its_copy(self):
        net = Registers()
        model = tandem.DataParallel(net, devices="cpu:3")
        x = torch.ones(6, 2)
        expected = 2 * x @ net.part.weight.T
        for _ in range(3):
            torch.testing.assert_close(model(x), expected)

    def test_hooks_of_the_module_reach_the_copies_and_leave_them(self):
        net = nn.Sequential(nn.Linear(2, 2))
        model = tandem.DataParallel(net, devices="cpu:2")
        x = torch.ones(4, 2)
        plain = model(x)
        handle = net[0].register_forward_hook(lambda module, inputs, y: 3 * y)
        torch.testing.assert_close(model(x), 3 * plain)
        handle.remove()
        torch.testing.assert_close(model(x), plain)

    def test_tensors_keep_their_class_and_follow_attributes(self):
        net = Reads()
        model = tandem.DataParallel(net, devices="cpu:2")
        self.assertEqual(model(torch.ones(2)).tolist(), [3, 3])
        self.assertEqual(net.kinds, [Scaled, Scaled])
        net.weight.factor = 5.0
        self.assertEqual(model(torch.ones(2)).tolist(), [5, 5])
        del net.weight.factor
        self.assertEqual(model(torch.ones(2)).tolist(), [1, 1])

    def test_first_calls_on_several_threads_are_right_or_refused(self):
        for _ in range(5):
            model = tandem.DataParallel(nn.Linear(3, 2), devices="cpu:3")
            x = torch.ones(6, 3)
            expected, outcomes = model.module(x).detach(), []

            def call():
                try:
                    outcomes.append("" if torch.allclose(model(x), expected) else "another value")
                except tandem.InvalidArgument as e:
                    outcomes.append("" if "another call is running" in str(e) else str(e))

            threads = [threading.Thread(target=call) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            self.assertEqual(outcomes, [""] * 6)


if __name__ == "__main__":
    tandem.configure_devices("cpu:4")
    unittest.main()
