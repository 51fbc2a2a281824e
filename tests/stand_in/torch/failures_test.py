# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Each call of CUDA and NCCL that a training makes is made to fail, and each allocation to run out."""

import ctypes
import os
import signal
import sys
import threading
import unittest
import unittest.mock

import torch
from control import LIBRARY, calls, fail, forget_failures
from launched import launch
from torch import nn

DEADLINE = 60  # seconds, for one process
# PyTorch goes on after a failure of these: it frees what it keeps, and tries again, or has nothing left to do, or asks CUDA.
UNSEEN = {"cudaEventDestroy", "cudaMalloc"} | {"nvmlInit_v2", "nvmlDeviceGetCount_v2"}
# NCCL gives a call's error again at its group's end, which PyTorch comes to while the first one is on its way: that ends the process.
FATAL = {"ncclBcast", "ncclReduce"}


def step(steps=1):
    """Copies, streams, events, pinned memory, collectives, backward on two GPUs."""
    torch.manual_seed(0)
    model = nn.DataParallel(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)).cuda(), device_ids=[0, 1])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, side = torch.ones(4, 8).pin_memory(), torch.cuda.Stream()
    for _ in range(steps):
        with torch.cuda.stream(side):
            y = x.to("cuda:0", non_blocking=True)
        torch.cuda.current_stream().wait_stream(side)
        y.record_stream(torch.cuda.current_stream())
        optimizer.zero_grad()
        model(y).sum().backward()
        optimizer.step()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    end.record()
    end.synchronize()
    begin.elapsed_time(end)
    torch.cuda.synchronize()
    return model.module[0].weight.sum().item()


EACH_ALLOCATION = """
import sys
sys.path.append({folder!r})
import gc, torch
from control import calls, fail, forget_failures
from failures_test import step
expected, before = step(), calls()["cudaMallocAsync"]
assert step() == expected
n, in_use = calls()["cudaMallocAsync"] - before, torch.cuda.memory_allocated()
for k in range(1, n + 1):
    fail(f"cudaMallocAsync:{{k}}+")  # PyTorch tries again
    try:
        step()
        raise SystemExit(f"allocation {{k}} of {{n}} did not fail")
    except torch.OutOfMemoryError:
        pass
    forget_failures()
    assert step() == expected
    gc.collect()
    assert torch.cuda.memory_allocated() == in_use, (k, torch.cuda.memory_allocated(), in_use)
print(n)
"""


def in_child(work):
    """What `work()` returns, a text, in a process that this one forks before it uses a GPU."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(DEADLINE)
        try:
            text = work()
        except BaseException as e:  # the text says what it was
            text = f"{type(e).__name__}: {e}"
        os.write(into, text.encode()[:4000])
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as lines:
        text = lines.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return text if status == 0 else f"exit status {status}: {text}"


def names():
    step()
    return " ".join(sorted(calls()))


class FailuresTest(unittest.TestCase):
    def test_each_call(self):
        found, seen = in_child(names).split(), {}
        self.assertGreater(len(found), 20, found)
        for name in found:
            with self.subTest(name):
                def work(call=name):
                    fail(f"{call}:1")
                    try:
                        step()
                    except (RuntimeError, torch.cuda.DeferredCudaCallError) as e:
                        return f"error {type(e).__name__} {e}"
                    return "nothing"

                text = in_child(work)
                self.assertRegex(text, "^exit status -6" if name in FATAL else "^(error|nothing)", name)
                seen[name] = text.split("\n")[0][:80]
        self.assertEqual({name for name, text in seen.items() if text == "nothing"}, UNSEEN & set(found), seen)

    def test_each_allocation(self):
        """cudaMalloc fails from the n-th on: PyTorch's error has its name, and once there is memory the training goes on."""
        def work():
            expected, n = step(), 0
            while True:
                torch.cuda.empty_cache()
                n += 1
                fail(f"cudaMalloc:{n}+")
                try:
                    step()
                    return f"{n - 1} errors" if n > 1 else "nothing failed"
                except torch.OutOfMemoryError:
                    pass
                forget_failures()
                assert step() == expected

        self.assertEqual(in_child(work), "3 errors")  # a segment of small blocks for each stream of each GPU

    def test_each_allocation_without_caching(self):
        def work():
            os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
            n = 0
            while True:
                n += 1
                fail(f"cudaMalloc:{n}+")
                try:
                    step()
                    return str(n - 1)
                except RuntimeError as e:
                    assert "out of memory" in str(e), e
                forget_failures()

        self.assertGreater(int(in_child(work)), 20)

    def test_each_allocation_of_a_program(self):
        """With the other allocator each is a call of its own. There is no memory from the k-th on; afterwards the training goes on."""
        with unittest.mock.patch.dict(os.environ, PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync"):
            ended = launch(EACH_ALLOCATION.format(folder=os.path.dirname(os.path.abspath(__file__))), "--strict")
        self.assertEqual(ended.status, 0, ended.errors)
        self.assertGreater(int(ended.output), 20)

    def test_two_threads_on_a_full_gpu(self):
        """The allocator waits for all kernels of the GPU, also where one of them waits for the allocator."""
        def work():
            one = torch.ones(1, device="cuda:0")
            torch.cuda.synchronize()
            assert LIBRARY.stand_in_occupy(0, 4711, ctypes.c_size_t(torch.cuda.mem_get_info(0)[0] - (48 << 20)))

            def drive(thread):
                with torch.cuda.stream(torch.cuda.Stream(0)):
                    for i in range(200):
                        one.expand((11 + (3 * i + 4 * thread) % 9) << 18) * 2

            threads = [threading.Thread(target=drive, args=(k,)) for k in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return str(calls().get("cudaFree", 0))

        self.assertGreater(int(in_child(work)), 0)

    def test_a_gpu_that_takes_no_more_work(self):
        """An illegal address stays: each later call says so."""
        def work():
            step()
            fail("cudaMemcpyAsync:1=700")
            texts = []
            for _ in range(2):
                try:
                    torch.ones(4).cuda()
                except RuntimeError as e:
                    texts.append(str(e).splitlines()[0])
            return ";".join(texts)

        self.assertEqual(in_child(work), ";".join(["CUDA error: an illegal memory access was encountered"] * 2))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
