# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of one process for each GPU: DistributedDataParallel, FSDP2, and a page for all ranks of a host."""

import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import launched
from tandem.gpu_memory import Gpu, GpuMemory, Row
from tandem.gpu_memory.rank_pages import write_page

PROGRAMS = pathlib.Path(__file__).parent / "programs"


@launched.needed
class ProcessesTest(unittest.TestCase):
    def causes_of(self, kind):
        with tempfile.TemporaryDirectory() as folder:
            done = launched.run(PROGRAMS / "processes.py", kind, pathlib.Path(folder, "store"))
        self.assertEqual(done.status, 0, done.errors[-2000:])
        (device,) = json.loads(done.output)["devices"]
        self.assertLess(device["unnamed"], 0.03, device["peak_by_cause"])
        return device["peak_by_cause"]

    def test_buckets_of_ddp(self):
        causes = self.causes_of("ddp")
        self.assertEqual(causes["DDP bucket"], causes["parameter"])

    def test_gradients_that_are_views_of_buckets(self):
        causes = self.causes_of("ddp-view")
        self.assertNotIn("DDP bucket", causes)
        self.assertEqual(causes["gradient"], causes["parameter"])

    def test_fsdp(self):
        causes = self.causes_of("fsdp")
        self.assertGreater(causes["optimizer state"], 0)


class RankPagesTest(unittest.TestCase):
    def test_the_page_has_all_ranks_that_came(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, TORCHELASTIC_RUN_ID="job"):
            page = pathlib.Path(folder, "page.html")
            for rank in (1, 0):
                report = GpuMemory([Gpu(rank, 100, "forward", 100, 0, 0, 0, [Row("input", "forward", "", 100)])])
                write_page(page, f"train.py, rank {rank}", report, str(rank))
            text = page.read_text()
        self.assertLess(text.index("<h2>train.py, rank 0</h2>"), text.index("<h2>train.py, rank 1</h2>"))
        self.assertIn("cuda:1", text)


if __name__ == "__main__":
    unittest.main()
