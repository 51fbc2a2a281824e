# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Traces of torch.profiler: peaks and causes of a real one, links of one that is made here, and files that are none."""

import gzip
import json
import pathlib
import tempfile
import unittest

import launched
from tandem.errors import FileError
from tandem.gpu_memory.trace_file import read_trace

PROGRAM = pathlib.Path(__file__).parent / "programs" / "traced.py"


def work(kind, name, microseconds, **arguments):
    return {"ph": "X", "cat": kind, "name": name, "ts": 1, "dur": microseconds, "tid": 7, "args": arguments}


def allocation(when, address, nbytes, total, gpu=0, tid=1):
    return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": when, "tid": tid,
            "args": {"Device Type": 1, "Device Id": gpu, "Addr": address, "Bytes": nbytes, "Total Allocated": total, "Total Reserved": 4096}}


def op(name, begin, end, tid=1):
    return {"ph": "X", "cat": "cpu_op", "name": name, "ts": begin, "dur": end - begin, "tid": tid}


class TraceFileTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def read(self, *events):
        path = self.folder / "trace.json.gz"
        path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
        return read_trace(path)

    @launched.needed
    def test_a_step_of_data_parallel(self):
        path = self.folder / "trace.json"
        done = launched.run(PROGRAM, path)
        self.assertEqual(done.status, 0, done.errors[-2000:])
        trace = read_trace(path)
        self.assertEqual([gpu.peak_bytes for gpu in trace.memory.gpus], json.loads(done.output.splitlines()[-1]))
        first, second = (gpu.by_cause for gpu in trace.memory.gpus[:2])
        outputs = 16 * 8 * 2000 * 4
        for cause in ("gathered output", "saved by the loss"):
            self.assertLess(abs(first[cause] - outputs), 1024)
        self.assertGreater(second["parameter copy"], 2 * 2000 * 32 * 4)
        self.assertGreater(first["unnamed"], 0)  # parameters and the optimizer's state are older
        self.assertIn("what was there before the trace began", trace.text())
        self.assertIn("the trace has no work of a GPU", trace.text())
        shown = launched.run_alone("-m", "tandem", "explain", path, "--report", self.folder / "page.html", "--json", self.folder / "a.json")
        self.assertEqual((shown.status, shown.output), (0, trace.text() + "\n"), shown.errors)
        self.assertIn("<svg", (self.folder / "page.html").read_text())
        self.assertEqual(json.loads((self.folder / "a.json").read_text()), json.loads(json.dumps(trace.as_dict())))

    def test_files_that_cannot_be_written(self):
        trace, lost = self.folder / "trace.json", self.folder / "nowhere" / "a"
        trace.write_text('{"traceEvents": []}')
        for option in ("--json", "--report"):
            done = launched.run_alone("-m", "tandem", "explain", trace, option, lost)
            self.assertEqual((done.status, done.errors), (1, f"tandem: cannot write {lost}: No such file or directory\n"))

    def test_a_machine_without_pytorch(self):
        events = [op("DataParallel.forward", 0, 10), allocation(1, 16, 100, 1100)]
        trace, page, numbers = (self.folder / name for name in ("trace.json", "page.html", "a.json"))
        trace.write_text(json.dumps({"traceEvents": events}))
        done = launched.run_without_torch("-m", "tandem", "explain", trace, "--report", page, "--json", numbers)
        self.assertEqual((done.status, done.output, done.errors), (0, self.read(*events).text() + "\n", ""))
        self.assertIn("<svg", page.read_text())
        self.assertEqual(json.loads(numbers.read_text()), json.loads(json.dumps(read_trace(trace).as_dict())))

    def test_causes_by_the_ops_around(self):
        back = "autograd::engine::evaluate_function: "
        trace = self.read(
            op("DataParallel.forward", 0, 10), allocation(1, 16, 100, 1100), op("aten::mm", 12, 14), allocation(13, 32, 50, 1150),
            op(back + "torch::autograd::AccumulateGrad", 20, 30, 2), op("aten::clone", 22, 24, 2), allocation(23, 48, 30, 1180, tid=2),
            allocation(25, 16, -100, 1080, tid=2), op("Optimizer.step#SGD.step", 40, 50), allocation(45, 64, 20, 1100))
        (gpu,) = trace.memory.gpus
        self.assertEqual(gpu.by_cause, {"unnamed": 1000, "saved activation": 150, "gradient": 30})
        self.assertEqual((gpu.peak_bytes, gpu.phase, gpu.reserved_bytes), (1180, "backward", 4096))

    def test_links(self):
        trace = self.read(
            work("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 10, device=0, bytes=4096), work("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 5, device=0, bytes=4096),
            work("gpu_memcpy", "Memcpy PtoP (Device -> Device)", 30, device=0, bytes=1 << 20, fromDevice=0, inDevice=0, toDevice=2),
            work("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20, device=1), work("kernel", "gemm", 99, device=1))
        told = [(link.what, link.source, link.target, link.times, link.nbytes, link.microseconds) for link in trace.links]
        self.assertEqual(told, [("copy", "cuda:0", "cuda:2", 1, 1 << 20, 30), ("ncclDevKernel_AllReduce_Sum_f32_RING_LL on cuda:1", None, None, 1, 0, 20),
                                ("copy", "host", "cuda:0", 2, 8192, 15)])
        self.assertRegex(trace.text(), r"cuda:0 to cuda:2 +1 times +1\.0 MiB")
        self.assertIn("profile_memory=True", trace.text())
        self.assertIn("which GPUs a collective's bytes went between", trace.text())

    def test_files_that_are_none(self):
        for content in (b"", b"[]", b"{}", b'{"traceEvents": 3}', b'{"traceEvents": [{"name": "[memory]"}]}', b"\x80\x04", b'{"traceEvents": [3]}'):
            path = self.folder / "no.json"
            path.write_bytes(content)
            with self.subTest(content), self.assertRaisesRegex(FileError, "no.json is no trace of torch.profiler's export_chrome_trace"):
                read_trace(path)
        with self.assertRaisesRegex(FileError, "cannot read .*nowhere.json: No such file"):
            read_trace(self.folder / "nowhere.json")


if __name__ == "__main__":
    unittest.main()
