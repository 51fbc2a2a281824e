# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Modules of PyTorch on its GPUs, beside the same program on the host. Runs on the stand-in, where a missing wait fails the test."""

import copy
import itertools
import threading
import unittest

import torch
from control import calls
from forms import FORMS, make_optimizer, train
from torch import nn
from torch.nn import functional as F

import tandem
import tandem.parallel

WAITS = {"cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize"}
BATCHES = [(8, 6), (7, 6), (3, 6), (1, 6), (12, 6)]  # uneven ones, and of fewer rows than there are GPUs
MODES = ["server", "classic", "sharded", "ddp"]


def make_model():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))


def make_wide_model():
    """With gradients that are copied at once, and whose memory the next ones get."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 160), *[nn.Linear(160, 160) for _ in range(3)], nn.Linear(160, 3))


class OnItsOwnStream(nn.Module):
    """A module whose forward, and so its backward, runs beside the stream of whoever calls it."""

    def __init__(self, layers):
        super().__init__()
        self.layers = layers

    def forward(self, x):
        current, own = torch.cuda.current_stream(x.device), torch.cuda.Stream(x.device)
        own.wait_stream(current)
        x.record_stream(own)
        with torch.cuda.stream(own):
            y = self.layers(x)
        current.wait_stream(own)
        y.record_stream(current)
        return y


def batches(device="cpu"):
    torch.manual_seed(2)
    return [(torch.randn(*shape).to(device), torch.randn(shape[0], 3).to(device)) for shape in BATCHES]


def loss_of(model, batch):
    return F.mse_loss(model(batch[0]), batch[1])


def of_one_device(make_optimizer, make=make_model):
    model = make()
    optimizer = make_optimizer(model.parameters())
    for batch in batches():
        optimizer.zero_grad()
        loss_of(model, batch).backward()
        optimizer.step()
    return [p.detach() for p in model.parameters()]


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=0.05)


class TrainingTest(unittest.TestCase):
    def check(self, model, expected):
        for found, wanted in zip(model.parameters(), expected, strict=True):
            torch.testing.assert_close(found.detach().cpu(), wanted, rtol=1e-5, atol=1e-5)

    def test_one_line_takes_all_gpus(self):
        model = make_model().cuda()
        wrapper = tandem.DataParallel(model)
        self.assertEqual(wrapper.device_ids, list(range(torch.cuda.device_count())))
        optimizer = adamw(model.parameters())
        for batch in batches("cuda"):
            optimizer.zero_grad()
            loss = loss_of(wrapper, batch)
            self.assertEqual(loss.device, torch.device("cuda", 0))
            loss.backward()
            optimizer.step()
        self.check(model, of_one_device(adamw))

    def test_steps_in_each_mode(self):
        for mode in MODES:
            for shared in (False, True):
                with self.subTest(mode, shared=shared):
                    model = make_model().cuda()
                    wrapper = tandem.DataParallel(model, mode=mode)
                    optimizer = tandem.Optimizer(wrapper, torch.optim.AdamW, lr=0.05) if shared else adamw(model.parameters())
                    for batch in batches("cuda"):
                        wrapper.step(batch, loss_of, optimizer)
                    self.check(model, of_one_device(adamw))

    def test_a_weight_of_a_loss_is_waited_for_only_where_a_gpu_has_it(self):
        def waits_with(weight_of):
            def loss(model, batch):
                x, y = batch
                found = model(x)
                return F.mse_loss(found, y) if weight_of is None else (F.mse_loss(found, y, reduction="sum"), weight_of(y))

            model = make_model().cuda()
            wrapper = tandem.DataParallel(model)
            optimizer = tandem.Optimizer(wrapper, torch.optim.AdamW, lr=0.05)
            for batch in batches("cuda")[:2]:  # the first makes what is made once
                before = calls()
                wrapper.step(batch, loss, optimizer)
            made = {name: n - before.get(name, 0) for name, n in calls().items()}
            return sum(made.get(name, 0) for name in WAITS), made["cudaMemcpyAsync"]

        of_means, _ = waits_with(None)
        of_numbers, copies = waits_with(lambda y: y.numel())
        self.assertEqual(of_numbers, of_means)
        # A number is read by a copy, whose end is asked for.
        self.assertEqual(waits_with(lambda y: torch.isfinite(y).sum()), (of_means, copies + torch.cuda.device_count()))

    def test_devices_and_outputs_are_those_that_are_named(self):
        model = make_model().cuda()
        x = torch.randn(8, 6, device="cuda")
        wanted = model(x)
        for wrapper, device in (
            (tandem.DataParallel(model, device_ids=[0, 2]), "cuda:0"),
            (tandem.DataParallel(model, device_ids=[0, 1, 2], output_device=2), "cuda:2"),
            (tandem.DataParallel(model, devices="cuda:0,cuda:1"), "cuda:0"),
            (tandem.DataParallel(model, devices=["cuda:0", torch.device("cuda", 3)]), "cuda:0"),
            (tandem.DataParallel(model, output_device="cpu"), "cpu"),
            (tandem.BalancedDataParallel(2, model), "cuda:0"),
        ):
            with self.subTest(wrapper.device_ids, output=wrapper.output_device):
                y = wrapper(x)
                self.assertEqual(y.device, torch.device(device))
                torch.testing.assert_close(y.to(wanted.device), wanted)
        self.assertEqual(tandem.BalancedDataParallel(2, model).plan(8), [2, 2, 2, 2])
        self.assertEqual(tandem.BalancedDataParallel(1, model, devices="cuda:0,cuda:1").plan(8), [1, 7])

    def test_gradients_are_those_of_the_whole_batch_in_any_chunks(self):
        x, y = batches("cuda")[0]
        one = make_model().cuda()
        loss_of(one, (x, y)).backward()
        for chunk_sizes in ([8, 0, 0, 0], [5, 1, 1, 1], [0, 0, 3, 5]):
            with self.subTest(chunk_sizes):
                model = make_model().cuda()
                loss_of(tandem.DataParallel(model, chunk_sizes=chunk_sizes), (x, y)).backward()
                for found, wanted in zip(model.parameters(), one.parameters(), strict=True):
                    torch.testing.assert_close(found.grad, wanted.grad)

    def test_no_sync_keeps_gradients_until_the_next_backward(self):
        parts = batches("cuda")[:2]
        one = make_model().cuda()
        for batch in parts:
            loss_of(one, batch).backward()
        model = make_model().cuda()
        wrapper = tandem.DataParallel(model)
        with wrapper.no_sync():
            loss_of(wrapper, parts[0]).backward()
        loss_of(wrapper, parts[1]).backward()
        for found, wanted in zip(model.parameters(), one.parameters(), strict=True):
            torch.testing.assert_close(found.grad, wanted.grad)

    def test_autocast_and_a_scaler(self):
        results = []
        for wrap in (lambda m: m, tandem.DataParallel):
            model = make_model().cuda()
            wrapped = wrap(model)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            scaler = torch.amp.GradScaler("cuda", init_scale=64)
            for batch in batches("cuda"):
                optimizer.zero_grad()
                with torch.autocast("cuda", torch.bfloat16):
                    loss = loss_of(wrapped, batch)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
            results.append([p.detach().cpu() for p in model.parameters()])
        for found, wanted in zip(*results, strict=True):
            torch.testing.assert_close(found, wanted, rtol=2e-2, atol=2e-2)

    def test_a_stream_of_the_callers(self):
        model = make_model().cuda()
        wrapper = tandem.DataParallel(model)
        optimizer = adamw(model.parameters())
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for batch in batches("cuda"):
                optimizer.zero_grad()
                loss_of(wrapper, batch).backward()
                optimizer.step()
        torch.cuda.current_stream().wait_stream(stream)
        self.check(model, of_one_device(adamw))

    def test_a_forward_on_a_stream_of_its_own(self):
        for make, mode, form in itertools.product((make_model, make_wide_model), MODES, FORMS):
            with self.subTest(make=make.__name__, mode=mode, form=form):
                model = OnItsOwnStream(make()).cuda()
                wrapper = tandem.DataParallel(model, mode=mode)
                optimizer = make_optimizer(form, wrapper, torch.optim.SGD, lr=0.05)
                train(form, wrapper, optimizer, batches("cuda"), loss_of)
                self.check(model, of_one_device(lambda parameters: torch.optim.SGD(parameters, lr=0.05), make))

    def test_updates_of_two_wrappers_at_once(self):
        def train_all(*seeds):
            def make(seed):
                torch.manual_seed(seed)
                model = nn.Sequential(*[nn.Linear(16, 16) for _ in range(8)]).cuda()
                wrapper = tandem.DataParallel(model, device_ids=[0, 1], mode="classic", deadline=60.0)
                groups = [{"params": [p], "lr": 0.01 + 1e-4 * i} for i, p in enumerate(model.parameters())]  # an update each
                return model, wrapper, tandem.Optimizer(groups, torch.optim.RMSprop), torch.randn(2, 8, 16).cuda()

            def run(wrapper, optimizer, batch):
                for _ in range(40):
                    wrapper.step(tuple(batch), loss_of, optimizer)

            made = [make(seed) for seed in seeds]
            threads = [threading.Thread(target=run, args=own) for _, *own in made]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(120)
            return [[p.detach().cpu() for p in model.parameters()] for model, *_ in made]

        torch.testing.assert_close(train_all(1, 2), train_all(1) + train_all(2))

    def test_an_optimizer_goes_on_without_its_wrapper(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                model = make_model().cuda()
                wrapper = tandem.DataParallel(model, mode=mode)
                optimizer = tandem.Optimizer(wrapper, torch.optim.AdamW, lr=0.05)
                for batch in batches("cuda")[:3]:
                    wrapper.step(batch, loss_of, optimizer)
                del wrapper
                for batch in batches("cuda")[3:]:
                    optimizer.zero_grad()
                    loss_of(model, batch).backward()
                    optimizer.step()
                self.check(model, of_one_device(adamw))

    def test_a_failed_call_has_no_effect(self):
        model = make_model().cuda()
        wrapper = tandem.DataParallel(model)
        before = copy.deepcopy(model.state_dict())

        def fails(replica, batch):
            if batch[0].device.index == 2:
                raise ValueError("no")
            return loss_of(replica, batch)

        with self.assertRaisesRegex(ValueError, "no"):
            wrapper.step(batches("cuda")[0], fails, adamw(model.parameters()))
        for name, value in model.state_dict().items():
            torch.testing.assert_close(value, before[name], rtol=0, atol=0)
        wrapper.step(batches("cuda")[0], loss_of)

    def test_devices_that_do_not_fit_the_module_are_refused(self):
        with self.assertRaisesRegex(tandem.InvalidArgument, "'weight' is on cpu.*cuda:0"):
            tandem.DataParallel(nn.Linear(6, 3), devices="cuda:0,cuda:1").plan(8)
        with self.assertRaisesRegex(tandem.InvalidArgument, "the module is on cuda:0; call module.cpu"):
            tandem.DataParallel(make_model().cuda(), devices="cpu:2")
        tandem.DataParallel(make_model().cuda())(torch.ones(8, 6, device="cuda")).sum().backward()  # GPUs work on

    def test_a_module_without_tensors_leaves_its_outputs_on_the_first_gpu(self):
        class Doubled(tandem.DataParallel):
            def gather(self, outputs, output_device):
                return 2 * super().gather(outputs, output_device)

        x = torch.randn(8, 6, device="cuda", requires_grad=True)
        for wrapper, factor in ((tandem.DataParallel(nn.Tanh()), 1), (Doubled(nn.Tanh()), 2)):
            y = wrapper(x)
            self.assertEqual(y.device, torch.device("cuda:0"))
            torch.testing.assert_close(y, factor * torch.tanh(x))

    def test_the_functions_of_torch_nn_parallel(self):
        model = make_model().cuda()
        x = torch.randn(8, 6, device="cuda")
        wanted = model(x)
        self.assertEqual([part.device.index for part in tandem.parallel.scatter(x, [0, 2])], [0, 2])
        for y, device in (
            (tandem.parallel.data_parallel(model, x), "cuda:0"),
            (tandem.parallel.data_parallel(model, x, [0, 1], output_device=1), "cuda:1"),
        ):
            self.assertEqual(y.device, torch.device(device))
            torch.testing.assert_close(y.to(wanted.device), wanted)
        y.sum().backward()
        self.assertIsNotNone(model[0].weight.grad)

    def test_a_subclass_with_a_gather_of_its_own(self):
        class Doubled(tandem.DataParallel):
            def gather(self, outputs, output_device):
                return 2 * super().gather(outputs, output_device)

        model = make_model().cuda()
        x = torch.randn(8, 6, device="cuda")
        torch.testing.assert_close(Doubled(model)(x), 2 * model(x))


if __name__ == "__main__":
    unittest.main()
