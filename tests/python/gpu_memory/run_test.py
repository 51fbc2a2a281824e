# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem run --memory: a program that knows nothing of tandem runs as it would, and its memory is told."""

import json
import pathlib
import signal
import tempfile
import unittest

import stand_in

TRAIN = stand_in.PROGRAMS / "train.py"


def tandem(*arguments, **options):
    return stand_in.run("-m", "tandem", *arguments, **options)


@stand_in.needed
class RunTest(unittest.TestCase):
    def test_the_output_is_the_programs_own(self):
        alone = stand_in.run(TRAIN, 4)
        done = tandem("run", "--memory", "--then", "continue", TRAIN, 4)
        self.assertEqual((done.stdout, done.returncode), (alone.stdout, 0), done.stderr)
        self.assertIn("train.py: step 3", done.stderr)
        self.assertIn("imbalance", done.stderr)

    def test_it_ends_after_the_step(self):
        done = tandem("memory", "--step", "2", TRAIN, 9)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("step"), 1, done.stdout)  # the second prints after its update
        self.assertIn("train.py: step 2", done.stderr)

    def test_a_module_with_its_arguments(self):
        done = tandem("run", "--memory", "--step", "1", "-m", "train", "3", "500")
        self.assertIn("train: step 1", done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_exit_status_signal_and_traceback(self):
        for mood, status in (("seven", 7), ("failing", 1), ("killed", -signal.SIGTERM)):
            with self.subTest(mood):
                alone = stand_in.run(TRAIN, 2, 500, mood)
                done = tandem("run", "--memory", "--then", "continue", "--step", "1", TRAIN, 2, 500, mood)
                self.assertEqual((done.returncode, done.stdout), (status, alone.stdout), done.stderr)
                self.assertEqual(alone.returncode, status)
                traceback = alone.stderr.partition("Traceback")[2]
                self.assertEqual(done.stderr.partition("Traceback")[2], traceback)

    def test_out_of_memory_tells_of_the_failed_allocation(self):
        done = tandem("run", "--memory", TRAIN, 3, 40000, mib=96)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"an allocation of [\d.]+ MiB failed on cuda:0, where [\d.]+ MiB were free")
        self.assertIn("OutOfMemoryError", done.stderr)
        self.assertRegex(done.stderr, r"parameter +█")
        self.assertNotIn("runpy", done.stderr)

    def test_a_program_that_never_steps(self):
        done = tandem("run", "--memory", TRAIN, 2, 500, "quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("it made no step of an optimizer", done.stderr)
        self.assertRegex(done.stderr, r"saved by the loss +█")

    def test_a_program_without_a_gpu(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "host.py")
            program.write_text("print('hello')\n")
            done = tandem("run", "--memory", program)
        self.assertEqual((done.stdout, done.returncode), ("hello\n", 0))
        self.assertIn("no module was called on a GPU", done.stderr)

    def test_a_program_that_records_a_history_itself(self):
        alone = stand_in.run(TRAIN, 2, 500, "history")
        done = tandem("run", "--memory", TRAIN, 2, 500, "history")
        self.assertEqual((done.stdout, done.returncode), (alone.stdout, 0), done.stderr)
        self.assertIn("something else records the allocator's history", done.stderr)

    def test_a_program_that_forks(self):
        done = tandem("run", "--memory", "--then", "continue", stand_in.PROGRAMS / "forks.py")
        self.assertEqual(done.stdout, "child 1\nchild 2\nchild 3\nchild 4\nchild ended with 0\n", done.stderr)
        self.assertIn("forks.py: step 3", done.stderr)
        self.assertIn("no module was called on a GPU in this process", done.stderr)

    def test_page_and_numbers(self):
        with tempfile.TemporaryDirectory() as folder:
            page, numbers = pathlib.Path(folder, "a.html"), pathlib.Path(folder, "a.json")
            done = tandem("run", "--memory", "--report", page, "--json", numbers, TRAIN, 4, 500)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([d["name"] for d in json.loads(numbers.read_text())["devices"]], [f"cuda:{i}" for i in range(4)])
            self.assertIn("<svg", page.read_text())

    def test_a_file_that_is_not_there(self):
        done = tandem("run", "--memory", "nowhere.py")
        self.assertEqual((done.returncode, done.stderr), (1, "tandem: run: there is no file nowhere.py\n"))


if __name__ == "__main__":
    unittest.main()
