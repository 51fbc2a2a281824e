# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The interpreter's lock, signals, context variables, and processes that fork."""

import contextvars
import os
import signal
import threading
import time
import unittest

import models
import tandem
import torch
from torch import nn

NUMBER = contextvars.ContextVar("NUMBER", default=0)


class Big(nn.Module):
    """Spends nearly all of its time in kernels."""

    def __init__(self, layers):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(256, 256) for _ in range(layers)))

    def forward(self, x):
        return self.layers(x)


class Spins(nn.Module):
    """Runs Python for ever."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.spins = True

    def forward(self, x):
        while self.spins:
            pass
        return x * self.weight


class Counter(threading.Thread):
    """Counts while it gets the lock."""

    def __init__(self):
        super().__init__(daemon=True)
        self.count, self.ends = 0, False

    def run(self):
        while not self.ends:
            self.count += 1
            time.sleep(0.0005)


def interrupt_after(seconds):
    threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


class LockTest(unittest.TestCase):
    def setUp(self):
        tandem.configure_devices("cpu:2")

    def test_other_threads_run_during_a_step(self):
        wrapper = tandem.DataParallel(Big(20))
        x = torch.randn(512, 256)
        wrapper.step(x, lambda replica, part: replica(part).square().mean())
        counter = Counter()
        counter.start()
        start = time.perf_counter()
        for _ in range(5):
            wrapper.step(x, lambda replica, part: replica(part).square().mean())
        spent, count = time.perf_counter() - start, counter.count
        counter.ends = True
        # If a step held the lock, the counter would get it once a step.
        self.assertGreater(count, 20, f"in {spent} s")

    def test_ctrl_c_ends_kernels(self):
        for devices in ([0, 1], [0]):
            with self.subTest(devices):
                wrapper = tandem.DataParallel(Big(2000), devices=devices)
                x = torch.randn(2048, 256)
                before = [p.clone() for p in wrapper.parameters()][:2]
                wrapper.step(x[:2], lambda replica, part: replica(part).square().mean())  # makes the copies
                interrupt_after(0.5)
                start = time.perf_counter()
                with self.assertRaises(KeyboardInterrupt):
                    while True:
                        wrapper.step(x, lambda replica, part: replica(part).square().mean())
                self.assertLess(time.perf_counter() - start, 5)  # a step takes longer
                self.assertTrue(all(torch.equal(a, b) for a, b in zip(before, wrapper.parameters())))
                wrapper.step(x[:4], lambda replica, part: replica(part).square().mean())

    def test_ctrl_c_ends_python(self):
        module = Spins()
        wrapper = tandem.DataParallel(module)
        interrupt_after(0.5)
        start = time.perf_counter()
        with self.assertRaises(KeyboardInterrupt):
            wrapper(torch.ones(4, 1))
        self.assertLess(time.perf_counter() - start, 5)
        module.spins = False
        self.assertEqual(wrapper(torch.ones(4, 1)).sum().item(), 4)

    def test_a_handler_of_signals_decides(self):
        seen = []
        before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
        try:
            wrapper = tandem.DataParallel(Big(200))
            interrupt_after(0.2)
            deadline = time.monotonic() + 20
            while not seen and time.monotonic() < deadline:
                wrapper(torch.randn(512, 256))
        finally:
            signal.signal(signal.SIGINT, before)
        self.assertEqual(seen, [1])

    def test_context_variables_reach_the_replicas(self):
        class Reads(nn.Module):
            def forward(self, x):
                NUMBER.set(NUMBER.get() + 1)  # of this replica alone
                return x * 0 + NUMBER.get()

        NUMBER.set(5)
        self.assertEqual(tandem.DataParallel(Reads())(torch.ones(4)).tolist(), [6] * 4)
        self.assertEqual(NUMBER.get(), 5)

    def test_a_call_in_a_forked_child_is_refused(self):
        wrapper = tandem.DataParallel(models.Mlp())
        wrapper(torch.ones(4, 6))
        child = os.fork()
        if child == 0:
            try:
                wrapper(torch.ones(4, 6))
            except tandem.InvalidArgument as error:
                os._exit(0 if "forked" in str(error) else 1)
            os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_loaders_with_workers_go_on(self):
        wrapper = tandem.DataParallel(models.Mlp())
        wrapper(torch.ones(4, 6))
        data = torch.utils.data.TensorDataset(torch.ones(8, 6))
        rows = [len(wrapper(x)) for (x,) in torch.utils.data.DataLoader(data, batch_size=4, num_workers=2)]
        self.assertEqual(rows, [4, 4])


if __name__ == "__main__":
    unittest.main()
