# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of one process for each GPU: DistributedDataParallel, FSDP2, and what all processes of a host tell together."""

import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import launched
from tandem.gpu_memory import Gpu, GpuMemory, Row
from tandem.gpu_memory.joint import joint_table
from tandem.gpu_memory.ranks import Job, Part

PROGRAMS = pathlib.Path(__file__).parent / "programs"


@launched.needed
class ProcessesTest(unittest.TestCase):
    def causes_of(self, kind):
        with tempfile.TemporaryDirectory() as folder:
            done = launched.run(PROGRAMS / "processes.py", kind, pathlib.Path(folder, "store"))
        self.assertEqual(done.status, 0, done.errors[-2000:])
        (device,) = json.loads(done.output.splitlines()[-1])["devices"]  # PyTorch 2.8's gloo prints, too
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


@launched.needed
class JobTest(unittest.TestCase):
    """ranks.py has twice as many rows on the second GPU."""

    def run_ranks(self, *arguments, options=("--gpus", "2")):
        with tempfile.TemporaryDirectory() as folder:
            page, store = pathlib.Path(folder, "page.html"), pathlib.Path(folder, "store")
            words = [str(store) if word == "STORE" else word for word in arguments]
            done = launched.run("-m", *[f"--report={page}" if word == "--report" else word for word in words], options=options)
            return done, page.read_text() if page.exists() else ""

    def check_jointly(self, done, page):
        self.assertEqual(done.status, 0, done.errors)
        self.assertIn("ranks.py: 2 processes", done.errors)
        table = done.errors.partition("2 processes")[2]
        self.assertRegex(table, r"rank 0, cuda:0 +rank 1, cuda:1\npeak +[\d.]+ MiB +[\d.]+ MiB\n")
        self.assertRegex(table, r"saved by the loss +250\.0 KiB +500\.0 KiB\n")
        self.assertLess(page.index("<h2>ranks.py, rank 0: step 3</h2>"), page.index("<h2>ranks.py, rank 1: step 3</h2>"))

    def test_torchrun(self):
        self.check_jointly(*self.run_ranks("torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "tandem", "memory", "--report",
                                           PROGRAMS / "ranks.py", "9"))

    def test_processes_that_the_program_spawns(self):
        done, page = self.run_ranks("tandem", "memory", "--then", "continue", "--report", PROGRAMS / "ranks.py", "4", "STORE")
        self.check_jointly(done, page)
        self.assertEqual(done.output.count("step 4"), 2)
        self.assertNotIn("no module was called", done.errors)

    def test_a_spawned_process_that_runs_out_of_memory(self):
        done, _ = self.run_ranks("tandem", "memory", PROGRAMS / "ranks.py", "3", "STORE", "20000", options=("--gpus", "2", "--memory", "40MiB"))
        self.assertEqual(done.status, 1)
        self.assertRegex(done.errors, r"rank 1: it failed after 0 steps; .*\n\nan allocation of [\d.]+ MiB failed on cuda:1")


class RanksTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        patch = mock.patch.object(tempfile, "tempdir", folder.name)
        patch.start()
        self.addCleanup(patch.stop)

    def part(self, rank, nbytes=100):
        report = GpuMemory([Gpu(rank, nbytes, "forward", nbytes, 0, 0, 0, [Row("input", "forward", "", nbytes)])])
        return Part(rank, f"train.py, rank {rank}", report)

    def test_the_last_that_comes_tells_of_all_once(self):
        job = Job("some", 2)
        self.assertFalse(job.is_last(job.add(self.part(1))))
        parts = job.add(self.part(0))
        self.assertEqual(parts, [self.part(0), self.part(1)])
        self.assertEqual([job.is_last(parts), job.is_last(parts)], [True, False])
        job.forget()
        self.assertEqual(job.parts(), [])

    def test_the_job_of_a_launcher(self):
        with mock.patch.dict(os.environ, RANK="1", LOCAL_WORLD_SIZE="2", TORCHELASTIC_RUN_ID="none"):
            self.assertEqual(Job.of_launcher(), Job(f"none-{os.getppid()}", 2))
        self.assertIsNone(Job.of_launcher())

    def test_a_column_for_each_process(self):
        lines = joint_table([self.part(0), self.part(1, 2048)]).splitlines()
        self.assertEqual(lines[0].split(), ["rank", "0,", "cuda:0", "rank", "1,", "cuda:1"])
        self.assertEqual(lines[1].split(), ["peak", "100", "B", "2.0", "KiB"])
        self.assertEqual(lines[2].split(), ["input", "100", "B", "2.0", "KiB"])


if __name__ == "__main__":
    unittest.main()
