# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that are wrong on hardware are reported by name, and right ones are not."""

import ctypes
import threading
import unittest

import torch
from control import LIBRARY, StandInTest, reports


class StrictnessTest(StandInTest):
    def test_memory_in_the_order_of_streams(self):
        """What uses it comes after its allocation, and before it is freed."""
        p, n = ctypes.c_void_p(), ctypes.c_size_t(100)
        first, second = (ctypes.c_void_p(torch.cuda.Stream(device=0).cuda_stream) for _ in range(2))
        used = torch.cuda.mem_get_info(0)[0]
        LIBRARY.cudaMallocAsync(ctypes.byref(p), n, first)
        LIBRARY.cudaMemsetAsync(p, 0, n, first)
        self.assertEqual(reports(), [])
        LIBRARY.cudaMemsetAsync(p, 1, n, first)
        LIBRARY.cudaMemsetAsync(p, 1, n, second)
        LIBRARY.cudaFreeAsync(p, first)
        found = reports()
        self.assertEqual(len(found), 1 + 1, found)
        self.assertIn("write by 'cudaMemsetAsync' on stream", found[0])
        self.assertIn("write by 'cudaFreeAsync' on stream", found[1])
        self.assertEqual(torch.cuda.mem_get_info(0)[0], used)
        self.assertEqual(LIBRARY.cudaFreeAsync(p, first), 1)
        self.assertIn("freed twice", reports()[0])
        self.assertEqual(LIBRARY.cudaGetLastError(), 1)

    def test_missing_wait(self):
        side = torch.cuda.Stream(device=0)
        x = torch.ones(1000, device="cuda:0")
        with torch.cuda.stream(side):
            y = x * 2
        found = reports()
        self.assertEqual(len(found), 1, found)
        self.assertIn("read by 'aten::mul' on stream", found[0])
        self.assertIn("without a wait for the write by 'aten::fill_' on stream 0 of GPU 0", found[0])
        self.assertEqual(y[0].item(), 2)  # and yet the values are right
        reports()

    def test_wait_that_is_there(self):
        side = torch.cuda.Stream(device=0)
        x = torch.ones(1000, device="cuda:0")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            y = x * 2
        torch.cuda.current_stream().wait_stream(side)
        self.assertEqual((y + x).sum().item(), 3000)

    def test_write_to_what_autograd_has_saved(self):
        """PyTorch counts the writes of a list in its kernels for GPUs, so that an optimizer's are seen."""
        x = torch.ones(3, device="cuda:0")
        before = x._version
        torch._foreach_mul_([x], 2)
        self.assertEqual(x._version, before + 1)
        torch._foreach_mul([x], 2)
        self.assertEqual(x._version, before + 1)
        w = torch.ones(3, device="cuda:0", requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.5)
        loss = (w * w).sum()
        w.grad = torch.ones_like(w)
        optimizer.step()
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            loss.backward()

    def use_on_side(self, record):
        side = torch.cuda.Stream(device=0)
        x = torch.ones(1 << 20, device="cuda:0")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x.sum()
        if record:
            x.record_stream(side)
        del x
        torch.zeros(1 << 20, device="cuda:0")  # the allocator gives the block away
        return reports()

    def test_missing_record_stream(self):
        found = self.use_on_side(record=False)
        self.assertEqual(len(found), 1, found)
        self.assertIn("write by 'aten::zero_' on stream 0", found[0])
        self.assertIn("without a wait for the read by 'aten::sum'", found[0])
        self.assertEqual(self.use_on_side(record=True), [])

    def test_wait_of_the_host(self):
        side = torch.cuda.Stream(device=0)
        x = torch.ones(1000, device="cuda:0")
        torch.cuda.synchronize(0)
        with torch.cuda.stream(side):
            (x * 2).sum()
        self.assertEqual(reports(), [])

    def test_result_of_unknown_size_is_a_wait_of_the_host(self):
        side = torch.cuda.Stream(device=0)
        x = torch.ones(10, device="cuda:0")
        for wait in (x.nonzero, lambda: x[x > 0], lambda: x.equal(x)):
            x.add_(1)
            wait()
            with torch.cuda.stream(side):
                x.sum()
            self.assertEqual(LIBRARY.stand_in_reports(), 0)
            torch.cuda.synchronize(0)

    def test_running_statistics_are_written(self):
        norm, x, side = torch.nn.BatchNorm1d(4).cuda(), torch.ones(3, 4, device="cuda"), torch.cuda.Stream()
        for training in (True, False):
            norm.train(training)
            torch.cuda.synchronize()
            norm(x)
            with torch.cuda.stream(side):
                norm.running_mean.sum()
            found = "".join(reports())
            self.assertEqual("without a wait for the write by 'aten::native_batch_norm'" in found, training, found)

    def test_wait_of_the_host_for_an_event(self):
        x, done = torch.ones(1000, device="cuda:0"), torch.cuda.Event()
        done.record()
        done.synchronize()
        with torch.cuda.stream(torch.cuda.Stream(device=0)):
            x.sum()
        self.assertEqual(reports(), [])

    def test_copy_to_pageable_memory_is_a_wait_of_the_host(self):
        x, y = torch.ones(4, device="cuda:0"), torch.zeros(4)
        LIBRARY.cudaMemcpyAsync(ctypes.c_void_p(y.data_ptr()), ctypes.c_void_p(x.data_ptr()), ctypes.c_size_t(16), 2, None)
        self.assertEqual(y.sum().item(), 4)

    def test_wait_of_another_thread(self):
        """It counts for those who come after that thread, by a lock or its end."""
        x = torch.ones(1000, device="cuda:0")
        waits = threading.Thread(target=torch.cuda.synchronize, args=(0,))
        waits.start()
        waits.join()
        with torch.cuda.stream(torch.cuda.Stream(device=0)):
            x.sum()
        self.assertEqual(reports(), [])

    def test_columns_of_one_block(self):
        x = torch.zeros(16, 64, device="cuda:0")
        torch.cuda.synchronize(0)
        for part in (x[:, :32], x[:, 32:]):
            with torch.cuda.stream(torch.cuda.Stream(device=0)):
                part.add_(1)
        self.assertEqual(LIBRARY.stand_in_reports(), 0)
        with torch.cuda.stream(torch.cuda.Stream(device=0)):
            x[:, 31:33].add_(1)
        self.assertEqual(len(reports()), 32)  # each of 16 rows meets both

    def test_copy_that_the_host_reads_too_early(self):
        x = torch.ones(1000, device="cuda:0")
        pinned = torch.zeros(1000).pin_memory()
        pinned.copy_(x, non_blocking=True)
        early = pinned.sum().item()
        torch.cuda.synchronize(0)
        self.assertEqual((early, pinned.sum().item()), (0, 1000))

    def test_missing_wait_between_gpus(self):
        x = torch.zeros(1000, device="cuda:1")
        with torch.cuda.stream(torch.cuda.Stream(device=0)):
            y = torch.ones(1000, device="cuda:0")
        x.copy_(y)
        self.assertIn("aten::fill_", "".join(reports()))

    def test_devices_that_differ(self):
        with self.assertRaisesRegex(RuntimeError, "Expected all tensors to be on the same device"):
            torch.ones(2, device="cuda:0") + torch.ones(2, device="cuda:1")
        with self.assertRaisesRegex(RuntimeError, "Expected all tensors to be on the same device"):
            torch.ones(2, device="cuda:0") + torch.ones(2)
        with self.assertRaisesRegex(RuntimeError, "Expected all tensors to be on the same device"):
            torch.ones(2, device="cuda:0") + torch.ones((), device="cuda:1")
        torch.ones(2, device="cuda:0") + torch.ones(())  # a number

    def test_default_streams_are_not_destroyed(self):
        invalid_handle = 400
        for stream in (0, 1, 2):
            self.assertEqual(LIBRARY.cudaStreamDestroy(ctypes.c_void_p(stream)), invalid_handle)
            LIBRARY.cudaGetLastError()  # or PyTorch takes it for its own
        self.assertEqual((torch.ones(2, device="cuda:0") + 1).tolist(), [2, 2])

    def test_graphs_are_refused_by_name(self):
        with torch.cuda.stream(torch.cuda.Stream()), self.assertRaisesRegex(RuntimeError, "not supported by the stand-in"):
            torch.cuda.CUDAGraph().capture_begin()
        self.assertIn("cudaStreamBeginCapture", reports()[0])

    def test_profiles_of_gpus_are_refused_by_name(self):
        """A profile has the host's part all the same."""
        for activities in (torch.profiler.supported_activities(), {torch.profiler.ProfilerActivity.CPU}):
            with torch.profiler.profile(activities=activities) as profile:
                torch.ones(3, device="cuda").sum()
            self.assertIn("aten::sum", [event.key for event in profile.key_averages()])
            found = [line.partition(", so")[0] for line in reports()]
            self.assertEqual(found, ["refusal: cuptiGetVersion: the stand-in has no activities of GPUs for torch.profiler"] * (len(activities) - 1))


if __name__ == "__main__":
    unittest.main()
