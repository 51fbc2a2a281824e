# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What ends a process, and how the launcher tells it."""

import os
import pathlib
import tempfile
import unittest
import unittest.mock

from launched import launch

RACE = """
import torch
x = torch.ones(1000, device="cuda:0")
with torch.cuda.stream(torch.cuda.Stream(device=0)):
    x.sum()
"""


class EndingsTest(unittest.TestCase):
    def test_reports_go_to_stderr_and_to_a_file(self):
        ended = launch(RACE)
        self.assertEqual(ended.status, 0, ended.errors)
        self.assertIn("tandem.stand_in: race: read by 'aten::sum'", ended.errors)
        self.assertIn("tandem.stand_in: 1 reports", ended.errors)
        self.assertEqual([(r["kind"], r["name"]) for r in ended.reports], [("race", "aten::sum")])

    def test_strict(self):
        self.assertEqual(launch(RACE, "--strict").status, 1)
        self.assertEqual(launch("import torch; torch.ones(2, device='cuda').sum().item()", "--strict").status, 0)
        self.assertEqual(launch(RACE + "raise SystemExit(3)", "--strict").status, 3)

    def test_host_in_a_gpus_memory(self):
        ended = launch("import ctypes, torch\nctypes.string_at(torch.ones(4, device='cuda:1').data_ptr(), 4)")
        self.assertEqual(ended.status, -11, ended.errors)
        self.assertEqual([r["text"] for r in ended.reports], ["the host touches memory of GPU 1, written last by 'aten::fill_'"])

    def test_use_after_free(self):
        ended = launch("""
import ctypes, torch
torch.cuda.init()
cuda, p = ctypes.CDLL(None), ctypes.c_void_p()
cuda.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(100))
cuda.cudaFree(p)
assert cuda.cudaMemsetAsync(p, 0, ctypes.c_size_t(100), None) == 700
try:
    torch.cuda.synchronize()
except RuntimeError as e:
    print(str(e).splitlines()[0])
""")
        self.assertEqual(ended.output.strip(), "CUDA error: an illegal memory access was encountered", ended.errors)
        self.assertEqual([(r["kind"], r["name"]) for r in ended.reports], [("memory", "cudaMemsetAsync")])

    def test_free_twice(self):
        ended = launch("""
import ctypes, torch
cuda, p = ctypes.CDLL(None), ctypes.c_void_p()
cuda.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(100))
assert (cuda.cudaFree(p), cuda.cudaFree(p)) == (0, 1)
""")
        self.assertEqual([r["name"] for r in ended.reports], ["cudaFree"], ended.errors)

    def test_kernel_that_slips_through(self):
        ended = launch("import torch\ntorch._convert_weight_to_int4pack(torch.zeros(8, 64, dtype=torch.uint8, device='cuda'), 2)")
        self.assertEqual(ended.status, -6, ended.errors)
        self.assertEqual(ended.reports[-1]["kind"], "kernel")
        self.assertIn("int4", ended.reports[-1]["name"])

    def test_call_that_nobody_wrote(self):
        ended = launch("import ctypes, torch\nctypes.CDLL(None).cudaGraphLaunch(None, None)")
        self.assertEqual(ended.status, -6, ended.errors)
        self.assertEqual([(r["kind"], r["name"]) for r in ended.reports], [("call", "cudaGraphLaunch")])

    def test_ranks_that_never_come(self):
        ended = launch("""
import ctypes, torch
torch.cuda.init()
nccl = ctypes.CDLL("libnccl.so.2")
ranks = (ctypes.c_void_p * 2)()
assert nccl.ncclCommInitAll(ranks, 2, None) == 0
x = torch.ones(4, device="cuda:0")
p = ctypes.c_void_p(x.data_ptr())
nccl.ncclAllReduce(p, p, ctypes.c_size_t(4), 7, 0, ctypes.c_void_p(ranks[0]), None)
""", "--deadline", "1")
        self.assertEqual(ended.status, -6, ended.errors)
        self.assertIn("ncclGroupStart", ended.reports[0]["text"])

    def test_end_beside_threads_of_backward(self):
        """They may be within PyTorch's destructors when Python ends; each of a few processes ends well."""
        for _ in range(3):
            ended = launch("""
import torch
model = torch.nn.DataParallel(torch.nn.Linear(8, 2).cuda())
model(torch.ones(16, 8, device="cuda")).sum().backward()
""")
            self.assertEqual(ended.status, 0, ended.errors)

    def test_another_pytorch_than_that_of_the_build(self):
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder, "torch")
            package.mkdir()
            (package / "__init__.py").touch()
            (package / "version.py").write_text("__version__ = '1.13.1+cu117'")
            with unittest.mock.patch.dict(os.environ, PYTHONPATH=folder):
                ended = launch("import torch")
        self.assertEqual(ended.status, 1)
        self.assertRegex(ended.errors, "ImportError: this tandem.stand_in was built with PyTorch 2\\.[0-9.]+, and .*torch has 1.13; run")

    def test_settings_that_are_wrong(self):
        for option, value, remedy in (("--gpus", "99", "set it to a number from 0 to 16"), ("--memory", "16GB", "write it as 16GiB"),
                                      ("--fail", "cudaMalloc", "write CALL:COUNT")):
            ended = launch("import torch", option, value)
            self.assertEqual(ended.status, 2, ended.errors)
            self.assertIn(remedy, ended.errors)

    def test_arguments_and_signals(self):
        ended = launch("import os, signal, sys; print(sys.argv[1:]); sys.stdout.flush(); os.kill(os.getpid(), signal.SIGTERM)",
                       arguments=("-c", "--gpus", "-m"))
        self.assertEqual((ended.output.strip(), ended.status), ("['-c', '--gpus', '-m']", -15), ended.errors)

    def test_gpus_and_memory(self):
        ended = launch("import torch; print(torch.cuda.device_count(), torch.cuda.mem_get_info(1)[1])", "--gpus", "2", "--memory", "64MiB")
        self.assertEqual(ended.output.split(), ["2", str(64 << 20)], ended.errors)
        self.assertEqual(launch("import torch; print(torch.cuda.is_available())", "--gpus", "0").output.strip(), "False")


if __name__ == "__main__":
    unittest.main()
