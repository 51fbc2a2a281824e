# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Files of torch.cuda.memory._dump_snapshot: what they say, and that nothing of them is executed."""

import pathlib
import pickle
import tempfile
import unittest

import launched
from tandem.errors import FileError
from tandem.gpu_memory.snapshot_file import read

OPTIM = [{"filename": "/x/torch/optim/adamw.py", "line": 9, "name": "_init_group"}, {"filename": "/me/train.py", "line": 12, "name": "main"}]
FORWARD = [{"filename": "/x/torch/nn/modules/linear.py", "line": 1, "name": "forward"},
           {"filename": "/x/torch/nn/modules/module.py", "line": 1, "name": "_call_impl"}, {"filename": "/me/net.py", "line": 3, "name": "forward"}]


def block(address, asked, frames=(), state="active_allocated"):
    return {"address": address, "size": -(-asked // 512) * 512, "requested_size": asked, "state": state, "frames": list(frames)}


def entry(action, address, size, frames=()):
    return {"action": action, "addr": address, "size": size, "time_us": 1, "frames": list(frames)}


SNAPSHOT = {
    "segments": [{"device": 1, "address": 0, "total_size": 2 << 20, "segment_type": "small", "blocks": [
        block(0, 1000, OPTIM), block(1024, 512), block(1536, (2 << 20) - 1536, state="inactive")]}],
    "device_traces": [[], [entry("free_requested", 4096, 2048), entry("free_completed", 4096, 2048), entry("alloc", 8192, 3000, FORWARD),
                           entry("alloc", 16384, 100), entry("free_requested", 8192, 3000), entry("free_completed", 8192, 3000),
                           entry("free_requested", 16384, 100), entry("free_completed", 16384, 100)]],
}


class Evil:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return pathlib.Path.touch, (self.mark,)


class SnapshotFileTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, content, name="a.pickle"):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content))
        return path

    def test_what_a_snapshot_says(self):
        (gpu,) = read(self.file(SNAPSHOT)).gpus
        self.assertEqual((gpu.name, gpu.peak_bytes), ("cuda:1", 1024 + 512 + 3072 + 512))
        self.assertEqual(sum(row.nbytes for row in gpu.rows), gpu.peak_bytes)
        rows = {(row.cause, row.phase, row.module): row.nbytes for row in gpu.rows}
        self.assertEqual(rows["optimizer state", "before", "train.py:12 main"], 1000)
        self.assertEqual(rows["saved activation", "forward", "net.py:3 forward"], 3000)
        self.assertEqual(rows["gradient of an activation", "backward", ""], 100)  # no frames of Python: a thread of backward
        self.assertEqual(rows["unnamed", "before", ""], 512)

    def test_nothing_is_executed(self):
        mark = self.folder / "executed"
        path = self.file(Evil(mark))
        with self.assertRaisesRegex(FileError, "asks for .*, which no snapshot needs; it was not executed"):
            read(path)
        done = launched.run_without_torch("-m", "tandem", "memory", path)
        self.assertRegex(done.errors, "^tandem: memory: the file asks for .*; it was not executed .*a.pickle.\n$")
        self.assertEqual(done.status, 1)
        self.assertFalse(mark.exists())
        pickle.loads(path.read_bytes())
        self.assertTrue(mark.exists())  # the file would have

    def test_what_is_no_snapshot(self):
        good = pickle.dumps(SNAPSHOT)
        for content in (b"", b"hello", b"\x80\x04.", good[:100], {"a": 1}, [], {"segments": 3, "device_traces": []},
                        {"segments": [], "device_traces": [[{"action": "alloc"}]]}):
            with self.subTest(str(content)[:40]), self.assertRaisesRegex(FileError, "is no snapshot"):
                read(self.file(content))
        with self.assertRaisesRegex(FileError, "cannot read .*nowhere"):
            read(self.folder / "nowhere")

    def test_every_broken_file_is_refused_or_read(self):
        good = pickle.dumps(SNAPSHOT)
        for place in range(0, len(good), 3):
            broken = bytearray(good)
            broken[place] ^= 0x15
            try:
                read(self.file(bytes(broken)))
            except FileError:
                pass

    def test_the_command(self):
        files = [self.file(SNAPSHOT, name) for name in ("rank0.pickle", "rank1.pickle")]
        page = self.folder / "page.html"
        done = launched.run_without_torch("-m", "tandem", "memory", "--report", page, *files)
        self.assertEqual((done.status, done.errors), (0, ""))
        self.assertEqual(done.output.count("cuda:1"), 2 * done.output.partition("rank1.pickle")[0].count("cuda:1"))
        self.assertIn("<h2>rank1.pickle</h2>", page.read_text())

    def test_a_page_that_cannot_be_written(self):
        page = self.folder / "nowhere" / "page.html"
        done = launched.run_without_torch("-m", "tandem", "memory", "--report", page, self.file(SNAPSHOT, "rank0.pickle"))
        self.assertEqual((done.status, done.errors), (1, f"tandem: cannot write {page}: No such file or directory\n"))


if __name__ == "__main__":
    unittest.main()
