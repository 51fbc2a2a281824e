# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Memory of PyTorch's GPUs that runs out in a replica: PyTorch's error, steps that are planned again, limits, the largest batch."""

import unittest

import torch
from torch import nn
from torch.nn import functional as F

import tandem

MIB = 1 << 20
WIDTH = 1 << 19  # a row of activations is 2 MiB


class Wide(nn.Module):
    """Holds some MiB for each row until backward."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 3)
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        rows = self.first(x)
        wide = torch.cat([rows, torch.zeros(len(x), WIDTH - 3, device=x.device)], 1)
        return torch.relu(wide).relu()[:, :3] * self.scale


def loss_of(model, batch):
    return F.mse_loss(model(batch[0]), batch[1])


def batch_of(rows=40):
    torch.manual_seed(2)
    return torch.randn(rows, 4, device="cuda"), torch.randn(rows, 3, device="cuda")


def model_on_gpu():
    torch.manual_seed(1)
    return Wide().cuda()


class OutOfMemoryTest(unittest.TestCase):
    def setUp(self):
        torch.cuda.empty_cache()

    def tearDown(self):
        for gpu in range(torch.cuda.device_count()):
            self.allow(gpu, torch.cuda.get_device_properties(gpu).total_memory)

    def allow(self, gpu, nbytes):
        with torch.cuda.device(gpu):  # PyTorch 2.8 leaves this GPU the current one
            torch.cuda.set_per_process_memory_fraction(nbytes / torch.cuda.get_device_properties(gpu).total_memory)

    def allowed_fractions(self):
        with torch.cuda.device(0):  # likewise
            return [torch.cuda.get_per_process_memory_fraction(gpu) for gpu in (0, 1)]

    def check_gradients(self, model, batch):
        one = model_on_gpu().cpu()
        loss_of(one, [x.cpu() for x in batch]).backward()
        for p, q in zip(model.parameters(), one.parameters(), strict=True):
            torch.testing.assert_close(p.grad.cpu(), q.grad)

    def test_it_is_pytorchs_error_and_names_the_device(self):
        model = model_on_gpu()
        wrapper = tandem.DataParallel(model)
        batch = batch_of()
        self.allow(2, 50 * MIB)
        before = [p.detach().clone() for p in model.parameters()]
        optimizer = tandem.Optimizer(wrapper, torch.optim.SGD, lr=0.1)
        for call in (lambda: wrapper.step(batch, loss_of, optimizer), lambda: wrapper(batch[0])):
            with self.assertRaises(torch.OutOfMemoryError) as caught:
                call()
            text = str(caught.exception)
            for part in ("out of memory on cuda:2", "Tried to allocate", "smaller batch or chunk on cuda:2", "on_oom"):
                self.assertIn(part, text)
            self.assertEqual(caught.exception.failure.device, "cuda:2")
        for p, q in zip(model.parameters(), before, strict=True):
            self.assertTrue(torch.equal(p, q))
        self.allow(2, 1024 * MIB)
        wrapper.step(batch, loss_of)
        self.check_gradients(model, batch)

    def test_a_step_is_planned_again_with_fewer_rows_there(self):
        model = model_on_gpu()
        wrapper = tandem.DataParallel(model, on_oom="replan")
        batch = batch_of()
        self.allow(2, 50 * MIB)
        wrapper.step(batch, loss_of)
        self.check_gradients(model, batch)
        rows = wrapper.plan(40)
        self.assertEqual(sum(rows), 40)
        self.assertLess(rows[2], 10)
        self.assertGreater(rows[2], 0)

    def test_a_limit_is_kept_by_pytorchs_allocator(self):
        model = model_on_gpu()
        wrapper = tandem.DataParallel(model, devices="cuda:0@120MiB,cuda:1@120MiB")
        self.assertEqual(torch.cuda.current_device(), 0)
        with self.assertRaises(torch.OutOfMemoryError):
            wrapper.step(batch_of(80), loss_of)
        batch = batch_of(20)
        wrapper.step(batch, loss_of)
        self.check_gradients(model, batch)

    def test_a_limit_of_the_first_gpu_by_its_short_name(self):
        wrapper = tandem.DataParallel(model_on_gpu(), devices="cuda@100MiB,cuda:1")
        self.assertEqual(wrapper.device_ids, [0, 1])
        self.assertEqual([fraction < 1 for fraction in self.allowed_fractions()], [True, False])

    def test_a_wrapper_that_is_refused_limits_nothing(self):
        for options in ({"mode": "fast"}, {"chunks": "fast"}):
            with self.assertRaises(tandem.InvalidArgument):
                tandem.DataParallel(model_on_gpu(), devices="cuda:0@100MiB,cuda:1@100MiB", **options)
            self.assertEqual(self.allowed_fractions(), [1, 1])

    def test_the_largest_batch_fits_and_one_more_row_does_not(self):
        wrapper = tandem.DataParallel(model_on_gpu(), devices="cuda:0@160MiB,cuda:1@100MiB", chunks="planned")
        found = wrapper.find_largest_batch(batch_of, loss_of)
        self.assertTrue(found.is_largest)
        self.assertGreater(found.chunk_sizes[0], found.chunk_sizes[1])
        wrapper.step(batch_of(found.rows), loss_of)
        self.assertLessEqual(torch.cuda.max_memory_reserved(1), 100 * MIB)


if __name__ == "__main__":
    unittest.main()
