# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What changes after wrapping is followed, each change against one device."""

import copy
import types
import unittest

import models
import tandem
import torch
from torch import nn
from torch.nn import functional as F


class Scaled(nn.Module):
    """Has attributes of its own."""

    def __init__(self):
        super().__init__()
        self.inner = models.Mlp()
        self.scale = 2.0

    def forward(self, x):
        return self.inner(x) * getattr(self, "scale", 1.0)


def freeze(model):
    model.inner[0].weight.requires_grad_(False)


def clamp_data(model):
    model.inner[0].weight.data.clamp_(-0.05, 0.05)


def write_in_place(model):
    with torch.no_grad():
        model.inner[2].bias.add_(1)


def load_state(model):
    torch.manual_seed(7)
    model.load_state_dict(Scaled().state_dict())


def assign_state(model):
    torch.manual_seed(8)
    model.load_state_dict(Scaled().state_dict(), assign=True)


def set_attribute(model):
    model.scale = -0.5


def rename_attribute(model):
    model.other = model.scale
    del model.scale


def replace_part(model):
    torch.manual_seed(9)
    model.inner[1] = nn.Sequential(nn.Linear(8, 8), nn.ReLU())


def remove_part(model):
    model.inner[1] = nn.Identity()


def replace_parameter(model):
    torch.manual_seed(10)
    model.inner[2].weight = nn.Parameter(torch.randn(3, 8))


def add_buffer(model):
    model.register_buffer("scale", torch.tensor(3.0)) if not hasattr(model, "scale") else None
    del model.scale
    model.register_buffer("scale", torch.tensor(3.0))


def replace_forward(model):
    def forward(self, x):
        return self.inner[0](x).sum(1, keepdim=True).expand(-1, 3) * self.scale

    model.forward = types.MethodType(forward, model)


def add_hook(model):
    model.inner[0].register_forward_hook(lambda module, inputs, output: output * 2)


def share_weights(model):
    model.inner[0].weight = nn.Parameter(torch.ones(8, 6) / 10)
    model.inner[0].register_parameter("tied", model.inner[0].weight)


def to_double(model):
    model.double()


CHANGES = (freeze, clamp_data, write_in_place, load_state, assign_state, set_attribute, rename_attribute, replace_part,
           remove_part, replace_parameter, add_buffer, replace_forward, add_hook, share_weights, to_double)


class FollowTest(unittest.TestCase):
    def setUp(self):
        tandem.configure_devices("cpu:3")

    def test_each_change_trains_as_one_device_does(self):
        for change in CHANGES:
            for mode in ("server", "sharded"):
                with self.subTest(change.__name__, mode=mode):
                    torch.manual_seed(0)
                    model = Scaled()
                    alone = copy.deepcopy(model)
                    wrapper = tandem.DataParallel(model, mode=mode)
                    for step in range(4):
                        if step == 2:
                            change(model)
                            change(alone)
                        x, y = models.batch_of(model, 7, step)
                        x = x.to(next(model.parameters()).dtype)
                        for net in (wrapper, alone):
                            net.zero_grad()
                            F.cross_entropy(net(x), y).backward()
                        for p, q in zip(model.parameters(), alone.parameters(), strict=True):
                            if q.grad is None:  # torch.nn.DataParallel has zeros then
                                self.assertTrue(p.grad is None or p.grad.count_nonzero() == 0)
                            else:
                                torch.testing.assert_close(p.grad, q.grad, rtol=1e-4, atol=1e-6)
                        for net in (model, alone):
                            torch.optim.SGD(net.parameters(), lr=0.1).step()
                    self.assertLessEqual(models.difference(model, alone), 1e-5)

    def test_two_parameters_in_one_memory_are_refused(self):
        x = torch.ones(4, 6)
        for calls in (0, 2):
            with self.subTest(calls=calls):
                model = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6))
                wrapper = tandem.DataParallel(model)
                for _ in range(calls):
                    wrapper(x)
                model[2].weight.data = model[0].weight.data
                self.assertRaisesRegex(tandem.InvalidArgument, "'0.weight' and '2.weight' are two tensors in the same memory", wrapper, x)
                model.requires_grad_(False)
                wrapper(x)  # neither is trained
                model.requires_grad_(True)
                model[2].weight = model[0].weight
                parts = torch.cat([p.data.flatten() for p in model.parameters()]).split([p.numel() for p in model.parameters()])
                for p, part in zip(model.parameters(), parts, strict=True):
                    p.data = part.view_as(p)  # side by side
                wrapper(x).sum().backward()
                found = model[0].weight.grad.clone()
                model.zero_grad()
                model(x.to(found.device)).sum().backward()
                torch.testing.assert_close(found, model[0].weight.grad)

    def test_parameters_in_parts_of_one_memory(self):
        def made(*weights):
            model = nn.Sequential(*[layer for _ in weights for layer in (nn.Linear(4, 4, bias=False), nn.Tanh())])
            for i, weight in enumerate(weights):
                model[2 * i].weight.data = weight
            return model

        x, both, rows = torch.ones(6, 4), torch.randn(4, 8), torch.randn(40)
        columns = made(both[:, 0::2], both[:, 1::2])
        alone = copy.deepcopy(columns)
        for model in (tandem.DataParallel(columns), alone):
            model(x).square().sum().backward()
        for found, wanted in zip(columns.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(found.grad, wanted.grad)
        far = made(rows.as_strided((4, 4), (8, 1)), rows[:16].view(4, 4), rows[16:32].view(4, 4))
        far[0].requires_grad_(False)
        far[2].requires_grad_(False)
        for model, names in ((made(both[:, :4], both[:, 2:6]), "'0.weight' and '2.weight'"), (far, "'0.weight' and '4.weight'")):
            self.assertRaisesRegex(tandem.InvalidArgument, f"{names} are two tensors in the same memory", tandem.DataParallel(model), x)

    def test_training_and_evaluation(self):
        model = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(4))
        wrapper = tandem.DataParallel(model)
        x = torch.ones(6, 4)
        wrapper(x)
        self.assertEqual(model[1].num_batches_tracked.item(), 1)
        wrapper.eval()
        self.assertTrue(torch.equal(wrapper(x), wrapper(x)))
        self.assertEqual(model[1].num_batches_tracked.item(), 1)
        model[1].train()
        wrapper(x)
        self.assertEqual(model[1].num_batches_tracked.item(), 2)

    def test_the_callers_modes_reach_the_replicas(self):
        wrapper = tandem.DataParallel(models.Mlp())
        x = torch.ones(4, 6)
        with torch.no_grad():
            self.assertFalse(wrapper(x).requires_grad)
        with torch.inference_mode():
            self.assertTrue(wrapper(x).is_inference())
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.assertEqual(wrapper(x).dtype, torch.bfloat16)
        self.assertTrue(wrapper(x).requires_grad)

    def test_recurrent_networks_use_their_own_weights(self):
        class Reads(nn.Module):
            def __init__(self):
                super().__init__()
                self.lstm = nn.LSTM(3, 4, 2, batch_first=True)

            def forward(self, x):
                return self.lstm(x)[0]

        model = Reads()
        alone = copy.deepcopy(model)
        wrapper = tandem.DataParallel(model)
        x = torch.randn(5, 6, 3)
        wrapper(x).sum().backward()
        alone(x).sum().backward()
        for p, q in zip(model.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(p.grad, q.grad)


if __name__ == "__main__":
    unittest.main()
