# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What depends on the rows of the whole batch, on PyTorch's GPUs: batch norm and dropout by row. Results are one device's."""

import itertools
import unittest

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import tandem

CHUNKS = [None, [1, 11, 0, 0], [0, 5, 1, 6]]
MODES = ["server", "classic", "sharded", "ddp"]


class Net(nn.Module):
    """A convolution with a norm, and a layer of rows with one, which is computed again in backward where that is asked for."""

    def __init__(self, recomputes=False, **norm):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4, **norm)
        self.rows = nn.Sequential(nn.Linear(36, 8), nn.BatchNorm1d(8, **norm), nn.Tanh())
        self.drop = nn.Dropout(0.0)
        self.head = nn.Linear(8, 3)
        self.recomputes = recomputes

    def tail(self, x):
        return self.drop(self.rows(x))

    def forward(self, x):
        h = F.max_pool2d(torch.relu(self.norm(self.conv(x))), 2).flatten(1)
        return self.head(checkpoint(self.tail, h, use_reentrant=False) if self.recomputes else self.tail(h))


def loss_of(model, batch):
    return F.mse_loss(model(batch[0]), batch[1])


def batch_of(rows=12, dtype=torch.float64):
    return torch.randn(rows, 2, 6, 6, dtype=dtype), torch.randn(rows, 3, dtype=dtype)


def on_gpu(batch):
    return tuple(x.cuda() for x in batch)


class RowsTest(unittest.TestCase):
    def twins(self, make):
        torch.manual_seed(3)
        one, many = make().double(), make().double()
        many.load_state_dict(one.state_dict())
        return one, many.cuda()

    def check(self, one, many):
        found = many.state_dict()
        for name, value in one.state_dict().items():
            torch.testing.assert_close(found[name].cpu(), value, msg=lambda text, name=name: f"{name}: {text}")
        for (name, p), q in zip(one.named_parameters(), many.parameters(), strict=True):
            torch.testing.assert_close(q.grad.cpu(), p.grad, msg=lambda text, name=name: f"{name}.grad: {text}")

    def check_training(self, make, **options):
        one, many = self.twins(make)
        wrapper = tandem.DataParallel(many, **options)
        for step in range(3):
            batch = batch_of()
            for model in (one, many):
                model.zero_grad()
            loss_of(one, batch).backward()
            if step % 2 == 0:
                loss_of(wrapper, on_gpu(batch)).backward()
            else:
                wrapper.step(on_gpu(batch), loss_of)
            self.check(one, many)
        one.eval()
        many.eval()
        x, _ = batch_of()
        torch.testing.assert_close(wrapper(x.cuda()).cpu(), one(x))

    def test_batch_norm_has_the_statistics_of_the_whole_batch(self):
        for mode, chunk_sizes in itertools.product(MODES, CHUNKS):
            with self.subTest(mode=mode, chunk_sizes=chunk_sizes):
                self.check_training(Net, mode=mode, chunk_sizes=chunk_sizes)

    def test_options_of_a_batch_norm(self):
        for norm in ({"affine": False}, {"momentum": None}, {"track_running_stats": False}):
            with self.subTest(norm):
                self.check_training(lambda norm=norm: Net(**norm), chunk_sizes=[3, 4, 2, 3])

    def test_batch_norm_in_a_checkpoint(self):
        for chunk_sizes in CHUNKS:
            with self.subTest(chunk_sizes):
                self.check_training(lambda: Net(recomputes=True), chunk_sizes=chunk_sizes)

    def test_channels_last_and_half(self):
        one = Net().cuda()
        many = Net().cuda()
        many.load_state_dict(one.state_dict())
        many = many.to(memory_format=torch.channels_last)
        seen = []
        many.norm.register_forward_hook(lambda _, inputs, y: seen.append((y.dtype, y.is_contiguous(memory_format=torch.channels_last))))
        wrapper = tandem.DataParallel(many, chunk_sizes=[5, 1, 2, 4])
        x, y = on_gpu(batch_of(dtype=torch.float32))
        with torch.autocast("cuda", torch.float16):
            expected = F.mse_loss(one(x), y)
            found = F.mse_loss(wrapper(x.to(memory_format=torch.channels_last)), y)
        torch.testing.assert_close(found, expected, rtol=1e-2, atol=1e-2)
        found.backward()
        expected.backward()
        self.assertEqual(set(seen), {(torch.float16, True)})
        self.assertEqual(many.norm.running_var.dtype, torch.float32)
        torch.testing.assert_close(many.norm.running_var, one.norm.running_var, rtol=1e-2, atol=1e-2)
        torch.testing.assert_close(many.head.weight.grad, one.head.weight.grad, rtol=3e-2, atol=3e-2)

    def test_a_failure_in_the_middle_has_no_effect(self):
        one, many = self.twins(Net)
        before = {name: value.clone() for name, value in many.state_dict().items()}

        def fails(replica, batch):
            loss = loss_of(replica, batch)
            if batch[0].device.index == 2:
                raise ValueError("no")
            return loss

        wrapper = tandem.DataParallel(many)
        batch = batch_of()
        with self.assertRaisesRegex(ValueError, "no"):
            wrapper.step(on_gpu(batch), fails)
        for name, value in many.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)
        loss_of(one, batch).backward()
        wrapper.step(on_gpu(batch), loss_of)
        self.check(one, many)

    def test_dropout_by_row_does_not_depend_on_chunks(self):
        def make(recomputes=False):
            torch.manual_seed(3)
            model = Net(recomputes).double().cuda()
            model.drop.p = 0.4
            return model

        def trained(**options):
            model = make()
            wrapper = tandem.DataParallel(model, dropout="by_row", **options)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            torch.manual_seed(8)
            for step in range(4):
                batch = on_gpu(batch_of())
                optimizer.zero_grad()
                if step % 2 == 0:
                    loss_of(wrapper, batch).backward()
                else:
                    wrapper.step(batch, loss_of)
                optimizer.step()
            return [p.detach() for p in model.parameters()]

        one = trained(device_ids=[0])
        for mode, chunk_sizes in itertools.product(MODES, CHUNKS):
            with self.subTest(mode=mode, chunk_sizes=chunk_sizes):
                for found, wanted in zip(trained(mode=mode, chunk_sizes=chunk_sizes), one, strict=True):
                    torch.testing.assert_close(found, wanted)
        with self.subTest("checkpoint"):
            model = make(recomputes=True)
            again = make()
            for m in (model, again):
                torch.manual_seed(8)
                loss_of(tandem.DataParallel(m, dropout="by_row", chunk_sizes=[1, 6, 0, 5]), on_gpu(batch_of())).backward()
            for p, q in zip(model.parameters(), again.parameters(), strict=True):
                torch.testing.assert_close(p.grad, q.grad)


if __name__ == "__main__":
    unittest.main()
