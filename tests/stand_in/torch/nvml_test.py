# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""NVML tells of the same GPUs: their memory, and the processes that have it."""

import ctypes
import os
import unittest
import unittest.mock

import torch
from control import LIBRARY, StandInTest, fail, forget_failures
from launched import launch

NVML = ctypes.CDLL("libnvidia-ml.so.1")
MIB = 1 << 20
SUCCESS, INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND, INSUFFICIENT_SIZE = 0, 2, 3, 6, 7


class Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("nbytes", ctypes.c_ulonglong), ("gpu_instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


PLACES = """
import ctypes, os, torch
print(torch.cuda.device_count(), torch._C._cuda_getDeviceCount())
if torch.cuda.is_available():
    x, nvml, handle, used = torch.ones(1 << 20, device="cuda:0"), ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p(), []
    nvml.nvmlInit_v2()
    for place in range(4):
        assert nvml.nvmlDeviceGetHandleByIndex_v2(place, ctypes.byref(handle)) == 0
        memory = (ctypes.c_ulonglong * 3)()
        assert nvml.nvmlDeviceGetMemoryInfo(handle, memory) == 0
        used.append(memory[2])
    place = int(os.environ["CUDA_VISIBLE_DEVICES"].split(",")[0])
    assert [u > 0 for u in used] == [i == place for i in range(4)], used
    assert torch.cuda.get_device_properties(0).pci_bus_id == place + 1
    assert str(torch.cuda.get_device_properties(0).uuid) in torch.cuda._raw_device_uuid_nvml()[place]
"""


def occupy(gpu, process, nbytes):
    return LIBRARY.stand_in_occupy(gpu, process, ctypes.c_size_t(nbytes))


class NvmlTest(StandInTest):
    def setUp(self):
        super().setUp()
        self.assertEqual(NVML.nvmlInit_v2(), SUCCESS)
        self.gpu = self.handle(1)

    def tearDown(self):
        NVML.nvmlShutdown()
        super().tearDown()

    def handle(self, gpu):
        handle = ctypes.c_void_p()
        self.assertEqual(NVML.nvmlDeviceGetHandleByIndex_v2(gpu, ctypes.byref(handle)), SUCCESS)
        return handle

    def memory(self):
        memory = Memory()
        self.assertEqual(NVML.nvmlDeviceGetMemoryInfo(self.gpu, ctypes.byref(memory)), SUCCESS)
        return memory

    def processes(self):
        n, found = ctypes.c_uint(8), (Process * 8)()
        self.assertEqual(NVML.nvmlDeviceGetComputeRunningProcesses_v3(self.gpu, ctypes.byref(n), found), SUCCESS)
        return {p.pid: p.nbytes for p in found[:n.value]}

    def test_pytorch_counts_gpus_by_it(self):
        self.assertEqual(torch.cuda._raw_device_count_nvml(), 4)
        self.assertEqual(len(set(torch.cuda._raw_device_uuid_nvml())), 4)
        self.assertIn(str(torch.cuda.get_device_properties(1).uuid), torch.cuda._raw_device_uuid_nvml()[1])

    def test_memory_of_pytorch_and_outside_of_it(self):
        torch.cuda.empty_cache()
        before = self.memory()
        x = torch.ones(MIB, device="cuda:1")
        reserved, p = torch.cuda.memory_reserved(1), ctypes.c_void_p()
        torch.cuda.set_device(1)
        LIBRARY.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(3 * MIB))
        after = self.memory()
        self.assertEqual(after.used - before.used, reserved + 3 * MIB)
        self.assertEqual((after.total, after.free + after.used), (16 << 30, 16 << 30))
        self.assertEqual(torch.cuda.mem_get_info(1), (after.free, after.total))
        self.assertEqual(self.processes(), {os.getpid(): after.used})
        LIBRARY.cudaFree(p)
        torch.cuda.set_device(0)
        self.assertEqual(self.memory().used, after.used - 3 * MIB)
        del x

    def test_other_processes(self):
        torch.ones(1, device="cuda:1")
        own = self.processes()[os.getpid()]
        self.assertEqual(occupy(1, 4711, 15 << 30), 1)
        self.assertEqual(self.processes(), {os.getpid(): own, 4711: 15 << 30})
        self.assertEqual(self.memory().used, own + (15 << 30))
        with self.assertRaisesRegex(torch.OutOfMemoryError, "Process 4711 has 15.00 GiB memory in use"):
            torch.empty(1 << 30, device="cuda:1")
        self.assertEqual((occupy(1, 1, 2 << 30), occupy(9, 1, 1)), (0, 0))
        self.assertEqual(occupy(1, 4711, 0), 1)
        torch.empty(1 << 30, device="cuda:1")
        self.assertEqual(list(self.processes()), [os.getpid()])

    def test_places_that_do_not_suffice(self):
        occupy(3, 1, MIB)
        occupy(3, 2, MIB)
        n, found = ctypes.c_uint(1), (Process * 1)()
        self.assertEqual(NVML.nvmlDeviceGetComputeRunningProcesses_v3(self.handle(3), ctypes.byref(n), found), INSUFFICIENT_SIZE)
        self.assertGreaterEqual(n.value, 2)
        occupy(3, 1, 0)
        occupy(3, 2, 0)

    def test_gpus_by_their_names(self):
        text, handle, index = ctypes.create_string_buffer(96), ctypes.c_void_p(), ctypes.c_uint()
        self.assertEqual(NVML.nvmlDeviceGetUUID(self.gpu, text, 96), SUCCESS)
        self.assertEqual(NVML.nvmlDeviceGetHandleByUUID(text, ctypes.byref(handle)), SUCCESS)
        self.assertEqual(handle.value, self.gpu.value)
        self.assertEqual(NVML.nvmlDeviceGetHandleByPciBusId_v2(b"00000000:02:00.0", ctypes.byref(handle)), SUCCESS)
        NVML.nvmlDeviceGetIndex(handle, ctypes.byref(index))
        self.assertEqual(index.value, 1)
        self.assertEqual(NVML.nvmlDeviceGetHandleByPciBusId_v2(b"0000:09:00.0", ctypes.byref(handle)), NOT_FOUND)
        self.assertEqual(NVML.nvmlDeviceGetUUID(self.gpu, text, 4), INSUFFICIENT_SIZE)
        self.assertEqual(NVML.nvmlDeviceGetHandleByIndex_v2(4, ctypes.byref(handle)), INVALID_ARGUMENT)

    def test_load_is_nothing_and_the_rest_is_not_supported(self):
        rates, value = (ctypes.c_uint * 2)(7, 7), ctypes.c_uint()
        self.assertEqual(NVML.nvmlDeviceGetUtilizationRates(self.gpu, rates), SUCCESS)
        self.assertEqual(list(rates), [0, 0])
        self.assertEqual(NVML.nvmlDeviceGetTemperature(self.gpu, 0, ctypes.byref(value)), NOT_SUPPORTED)

    def test_gpus_that_cuda_does_not_show(self):
        """NVML's numbers are places in the machine, CUDA's are those of CUDA_VISIBLE_DEVICES."""
        for shown, count in (("2,0", 2), ("1,9,0", 1), ("", 0)):
            with unittest.mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES=shown):
                ended = launch(PLACES)
            self.assertEqual((ended.status, ended.output.split()), (0, [str(count)] * 2), ended.errors)
        with unittest.mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES="GPU-1"):
            ended = launch("import torch; torch.cuda.init()")
        self.assertIn("CUDA_VISIBLE_DEVICES is 'GPU-1', with 'GPU-1'; the stand-in takes numbers alone, such as 0,2", ended.errors)
        self.assertEqual(ended.status, 2)

    def test_failures_by_name(self):
        fail("nvmlDeviceGetMemoryInfo:1")
        self.assertEqual(NVML.nvmlDeviceGetMemoryInfo(self.gpu, ctypes.byref(Memory())), 999)
        forget_failures()
        self.memory()


if __name__ == "__main__":
    unittest.main()
