# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Several devices on one of PyTorch's GPUs (cuda:0x2): they train as one device does, and what they cannot do is refused by name."""

import itertools
import os
import unittest

import torch
from forms import FORMS, make_optimizer, train
from torch import nn
from torch.nn import functional as F

import tandem
from tandem.errors import InvalidArgument

# A process has its devices once.
DEVICES = os.environ.get("SHARED_DEVICES", "cuda:0x2")
HOME = torch.device(DEVICES[:6])
COUNT = sum(int(part[7:]) for part in DEVICES.split(","))
ROWS = [12, 7, 3, 1]  # uneven, and fewer than devices
MODES = ["server", "classic", "sharded", "ddp"]


def make_model(norm=False):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16) if norm else nn.Tanh(), nn.Linear(16, 4))


def batch(rows=12):
    torch.manual_seed(1)
    return torch.randn(rows, 8), torch.randn(rows, 4)


def on_gpu(rows=12):
    return tuple(x.to(HOME) for x in batch(rows))


def loss_of(model, part):
    return F.mse_loss(model(part[0]), part[1])


class SharedGpuTest(unittest.TestCase):
    def wrapped(self, norm=False, **options):
        return tandem.DataParallel(make_model(norm).to(HOME), devices=DEVICES, deadline=60.0, **options)

    def test_they_train_as_one_device(self):
        one = make_model()
        optimizer = torch.optim.AdamW(one.parameters(), lr=0.05)
        for rows in ROWS:
            optimizer.zero_grad()
            loss_of(one, batch(rows)).backward()
            optimizer.step()
        for mode, form in itertools.product(MODES, FORMS):
            with self.subTest(mode=mode, form=form):
                wrapper = self.wrapped(mode=mode)
                optimizer = make_optimizer(form, wrapper, torch.optim.AdamW, lr=0.05)
                train(form, wrapper, optimizer, map(on_gpu, ROWS), loss_of)
                for found, wanted in zip(wrapper.module.parameters(), one.parameters(), strict=True):
                    torch.testing.assert_close(found.detach().cpu(), wanted.detach(), rtol=1e-5, atol=1e-5)

    def test_each_has_a_stream_of_its_own(self):
        streams = {}

        class Told(nn.Module):
            def __init__(self):
                super().__init__()
                self.out = nn.Linear(8, 4)

            def forward(self, x):
                streams.setdefault(x.device, set()).add(torch.cuda.current_stream(x.device).cuda_stream)
                return self.out(x)

        side = torch.cuda.Stream(HOME)
        wrapper = tandem.DataParallel(Told().to(HOME), devices=DEVICES)
        for of_caller in (torch.cuda.current_stream(HOME), side):
            streams.clear()
            side.wait_stream(torch.cuda.current_stream(HOME))
            with torch.cuda.stream(of_caller):
                x, _ = on_gpu()
                wrapper(x).sum().backward()
            torch.cuda.current_stream(HOME).wait_stream(side)
            self.assertEqual(sum(map(len, streams.values())), COUNT)
            self.assertIn(of_caller.cuda_stream, streams[HOME])

    def test_what_the_program_does_before_and_after_is_in_order(self):
        wrapper = self.wrapped()
        module = wrapper.module
        for rows in ROWS:
            x, _ = on_gpu(rows)
            x = x * 2 + 1
            y = wrapper(x)
            expected = module(x)
            torch.testing.assert_close(y, expected)
            with torch.no_grad():
                for p in module.parameters():
                    p.mul_(0.5)  # no copy reads it any more
            del x, y
        with torch.no_grad():
            x, _ = on_gpu()
            torch.testing.assert_close(wrapper(x), module(x))

    def test_gradients_of_inputs_go_back(self):
        one = make_model()
        for wrapper, place in ((one, "cpu"), (self.wrapped(), HOME)):
            x, _ = (part.to(place) for part in batch())
            x.requires_grad_()
            wrapper(x * 3).pow(2).sum().backward()
            if place == "cpu":
                expected = x.grad
        torch.testing.assert_close(x.grad.cpu(), expected, rtol=1e-4, atol=1e-4)

    def test_a_failed_step_has_no_effect(self):
        wrapper = self.wrapped()
        before = [p.detach().clone() for p in wrapper.module.parameters()]

        losses = itertools.count()

        def fails(replica, part):
            if next(losses) == 1:
                raise ValueError("no")
            return loss_of(replica, part)

        optimizer = torch.optim.SGD(wrapper.module.parameters(), lr=1.0)
        with self.assertRaisesRegex(ValueError, "no"):
            wrapper.step(on_gpu(), fails, optimizer)
        for p, was in zip(wrapper.module.parameters(), before, strict=True):
            self.assertTrue(torch.equal(p, was))
        wrapper.step(on_gpu(), loss_of)

    def test_a_batch_norm_that_synchronises_is_refused_where_it_would_train(self):
        wrapper = self.wrapped(norm=True)
        with self.assertRaisesRegex(RuntimeError, rf"GPU {HOME.index} has 2 devices, whose backwards PyTorch runs one after the other") as told:
            wrapper(on_gpu()[0])
        notes = "".join(told.exception.__notes__)
        self.assertLess(notes.count("give batch_norm per_replica"), len({part[:6] for part in DEVICES.split(",")}), notes)
        with torch.no_grad():
            wrapper(on_gpu()[0])
        loss_of(self.wrapped(norm=True, batch_norm="per_replica"), on_gpu()).backward()

    def test_draws_of_one_generator_are_refused_and_masks_by_row_go_on(self):
        dropout = nn.Sequential(nn.Dropout(0.5)).to(HOME)
        rows = torch.ones(12, 8, device=HOME)
        wrapper = tandem.DataParallel(dropout, devices=DEVICES, deadline=60.0)
        before = torch.cuda.get_rng_state(HOME)
        with self.assertRaisesRegex(InvalidArgument, r"drew random numbers, but GPU \d has \d devices.*give dropout by_row"):
            wrapper(rows)
        self.assertTrue(torch.equal(torch.cuda.get_rng_state(HOME), before))
        wrapper = tandem.DataParallel(dropout, devices=DEVICES, deadline=60.0, dropout="by_row")
        first, second = wrapper(rows), wrapper(rows)
        self.assertFalse(torch.equal(first, second))
        self.assertFalse(torch.equal(torch.cuda.get_rng_state(HOME), before))

    def test_the_optimizers_state_is_read_in_order(self):
        wrapper = self.wrapped(mode="sharded")
        optimizer = tandem.Optimizer(wrapper, torch.optim.Adam, lr=0.1)
        wrapper.step(on_gpu(), loss_of, optimizer)
        for state in optimizer.state_dict()["state"].values():
            for x in state.values():
                self.assertTrue(torch.isfinite(x.cpu()).all())

    def test_their_work_is_not_told_apart(self):
        wrapper = self.wrapped()
        wrapper(on_gpu()[0])
        text = f"cuda:0 and cuda:1 are devices of GPU {HOME.index}, whose work "
        with self.assertRaisesRegex(InvalidArgument, text + "PyTorch does not tell apart"):
            tandem.explain(lambda: wrapper(on_gpu()[0]))
        with self.assertRaisesRegex(InvalidArgument, "compare: " + text + "and memory PyTorch does not tell apart; give each a GPU"):
            tandem.compare(make_model().to(HOME), on_gpu(), loss_of, torch.optim.SGD, devices=DEVICES)

        class Gathered(tandem.DataParallel):
            def gather(self, outputs, output_device):
                return super().gather(outputs, output_device)

        with self.assertRaisesRegex(InvalidArgument, "its class has a method of torch.nn.DataParallel's of its own: " + text):
            Gathered(make_model().to(HOME), devices=DEVICES)(on_gpu()[0])

    def test_their_memory_is_not_told_apart(self):
        with self.assertRaisesRegex(InvalidArgument, "cuda:0 has a GPU with other devices, and PyTorch's memory there is that of all"):
            self.wrapped().step_model(on_gpu(), loss_of)

    def test_plans_by_the_memory_of_each_are_refused_at_once(self):
        for options, what in (({"on_oom": "replan"}, "on_oom is replan"), ({"chunks": "planned"}, "chunks are planned")):
            with self.subTest(options), self.assertRaisesRegex(
                InvalidArgument, f"^DataParallel: {what} by the memory of each device, but cuda:. shares GPU . with other devices.*chunk sizes"
            ):
                self.wrapped(**options)

    def test_out_of_memory_advises_no_plan(self):
        wrapper, (x, _) = self.wrapped(), on_gpu(1 << 16)
        wrapper(x[:12])
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(1e-4, HOME)
        try:
            with self.assertRaisesRegex(torch.OutOfMemoryError, r"Use a smaller batch or chunk on cuda:\d, or fewer devices on GPU \d") as caught:
                wrapper(x)
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0, HOME)
        self.assertNotIn("replan", str(caught.exception))

    def test_the_module_has_to_be_on_their_gpu(self):
        elsewhere = torch.device("cuda", 1 - HOME.index)
        with self.assertRaisesRegex(InvalidArgument, f"on device {HOME}.*found one of them on device: {elsewhere}|'0.weight' is on {elsewhere}"):
            tandem.DataParallel(make_model().to(elsewhere), devices=DEVICES)(on_gpu()[0])

    def test_each_tensor_is_split_by_itself(self):
        class Sum(nn.Module):
            def __init__(self):
                super().__init__()
                self.out = nn.Linear(8, 4)

            def forward(self, x, y):
                return self.out(x) + y[::2, :4]

        with tandem.replace_data_parallel(devices=DEVICES):
            wrapper = nn.DataParallel(Sum().to(HOME))
        x, y = on_gpu()[0], on_gpu(24)[0]
        torch.testing.assert_close(wrapper(x, y), wrapper.module(x, y))

    def test_each_has_its_part_of_the_number_of_items(self):
        class Told(nn.Module):
            def __init__(self):
                super().__init__()
                self.out = nn.Linear(8, 4)

            def forward(self, x, num_items_in_batch=None):
                return self.out(x).square().sum() / num_items_in_batch

        wrapper = tandem.DataParallel(Told().to(HOME), devices=DEVICES, scalars="weighted_mean")
        x, _ = on_gpu()
        found = wrapper(x, num_items_in_batch=torch.tensor(len(x), device=HOME))
        torch.testing.assert_close(found, wrapper.module(x, len(x)))

    def test_outputs_are_where_the_wrapper_says(self):
        wrapper = self.wrapped()
        self.assertEqual(wrapper(on_gpu()[0]).device.index, wrapper.output_device)

    def test_other_gpus_by_number_are_refused(self):
        self.wrapped()
        other = COUNT - 1  # a device of the process's, and another GPU's number
        if HOME.index == other or DEVICES == "cuda:0x2,cuda:1x2":
            other = 0 if HOME.index else 2
        for options in ({"device_ids": [other]}, {"devices": [torch.device("cuda", other)]}, {"devices": [other]}, {}):
            with self.subTest(options), self.assertRaisesRegex(InvalidArgument, r"DataParallel: .* GPU \d"):
                tandem.DataParallel(make_model().to(HOME), **options)

    def test_nccl_has_one_rank_a_gpu(self):
        why = "cuda:0 and cuda:1 are on one GPU, but NCCL allows one rank per GPU"
        if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 11):
            why = "cuda:0 has no stream of CUDA's that NCCL could use"  # those do not tell it
        with self.assertRaisesRegex(InvalidArgument, f"^DataParallel: backend is nccl: {why}.*backend local"):
            self.wrapped(backend="nccl")


if __name__ == "__main__":
    unittest.main()
