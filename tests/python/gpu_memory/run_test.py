# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem run --memory: a program that knows nothing of tandem runs as it would, and its memory is told."""

import json
import pathlib
import signal
import tempfile
import unittest

import launched

PROGRAMS = pathlib.Path(__file__).parent / "programs"
TRAIN = PROGRAMS / "train.py"


@launched.needed
class RunTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.forks = launched.Forks()
        cls.addClassCleanup(cls.forks.close)

    def tandem(self, *arguments):
        return self.forks.run("-m", "tandem", *arguments)

    def test_the_output_is_the_programs_own(self):
        alone = self.forks.run(TRAIN, 4)
        done = self.tandem("run", "--memory", "--then", "continue", TRAIN, 4)
        self.assertEqual((done.output, done.status), (alone.output, 0), done.errors)
        self.assertIn("train.py: step 3", done.errors)
        self.assertIn("imbalance", done.errors)

    def test_it_ends_after_the_step(self):
        done = self.tandem("memory", "--step", "2", TRAIN, 9)
        self.assertEqual(done.status, 0, done.errors)
        self.assertEqual(done.output.count("step"), 1, done.output)  # the second prints after its update
        self.assertIn("train.py: step 2", done.errors)

    def test_a_module_with_its_arguments(self):
        done = self.tandem("run", "--memory", "--step", "1", "-m", "train", "3", "500")
        self.assertIn("train: step 1", done.errors)
        self.assertEqual(done.status, 0, done.errors)

    def test_exit_status_signal_and_traceback(self):
        for mood, status, run in (("seven", 7, self.forks.run), ("failing", 1, launched.run), ("killed", -signal.SIGTERM, self.forks.run)):
            with self.subTest(mood):
                alone = run(TRAIN, 1, 500, mood)
                done = run("-m", "tandem", "run", "--memory", "--then", "continue", "--step", "1", TRAIN, 1, 500, mood)
                self.assertEqual((done.status, done.output), (status, alone.output), done.errors)
                self.assertEqual(alone.status, status)
                traceback = alone.errors.partition("Traceback")[2]
                self.assertEqual(done.errors.partition("Traceback")[2], traceback)

    def test_out_of_memory_tells_of_the_failed_allocation(self):
        done = launched.run("-m", "tandem", "run", "--memory", TRAIN, 3, 40000, options=("--memory", "96MiB"))
        self.assertEqual(done.status, 1)
        self.assertRegex(done.errors, r"an allocation of [\d.]+ MiB failed on cuda:0, where [\d.]+ MiB were free")
        self.assertIn("OutOfMemoryError", done.errors)
        self.assertRegex(done.errors, r"parameter +█")
        self.assertNotIn("runpy", done.errors)

    def test_a_program_that_never_steps(self):
        done = self.tandem("run", "--memory", TRAIN, 2, 500, "quiet")
        self.assertEqual(done.status, 0, done.errors)
        self.assertIn("it made no step of an optimizer", done.errors)
        self.assertRegex(done.errors, r"saved by the loss +█")

    def test_a_program_that_fails_before_a_step(self):
        alone = launched.run(TRAIN, 0, 500, "failing")
        done = launched.run("-m", "tandem", "run", "--memory", TRAIN, 0, 500, "failing")
        self.assertEqual((done.output, done.status), (alone.output, 1))
        self.assertTrue(done.errors.endswith(alone.errors), (done.errors, alone.errors))
        self.assertIn("train.py: it failed after 0 steps; this is what came after the last\nno module was called on a GPU", done.errors)

    def test_a_program_without_a_gpu(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "host.py")
            program.write_text("print('hello')\n")
            done = self.tandem("run", "--memory", program)
        self.assertEqual((done.output, done.status), ("hello\n", 0))
        self.assertIn("no module was called on a GPU", done.errors)

    def test_a_program_that_records_a_history_itself(self):
        alone = self.forks.run(TRAIN, 2, 500, "history")
        done = self.tandem("run", "--memory", TRAIN, 2, 500, "history")
        self.assertEqual((done.output, done.status), (alone.output, 0), done.errors)
        self.assertIn("something else records the allocator's history", done.errors)

    def test_a_program_that_forks(self):
        done = self.tandem("run", "--memory", "--then", "continue", PROGRAMS / "forks.py")
        self.assertEqual(done.output, "child 1\nchild 2\nchild 3\nchild 4\nchild ended with 0\n", done.errors)
        self.assertIn("forks.py, rank 0: step 3", done.errors)
        self.assertNotIn("no module was called on a GPU in this process", done.errors)

    def test_a_module_of_torch_compile(self):
        alone = self.forks.run(PROGRAMS / "newcomers.py", "compiled")
        done = self.tandem("run", "--memory", "--then", "continue", PROGRAMS / "newcomers.py", "compiled")
        self.assertEqual((done.output, done.status, alone.status), (alone.output, 0, 0), done.errors)
        self.assertIn("optimizer state of layer.weight", done.errors)
        self.assertNotIn("Warning", done.errors)

    def test_what_is_left_of_the_step_before(self):
        done = self.tandem("run", "--memory", PROGRAMS / "newcomers.py", "left")
        self.assertRegex(done.errors, r"reached in forward(.*\n)+? +held by the program .* before 1\.0 MiB\n")
        self.assertNotIn("unnamed", done.errors)

    def test_two_models_on_two_gpus(self):
        done = self.tandem("run", "--memory", PROGRAMS / "newcomers.py", "two")
        self.assertEqual(done.status, 0, done.errors)
        self.assertRegex(done.errors, r"cuda:0 (.*\n)+?  parameter +█.*\n(.*\n)+?cuda:1 (.*\n)+?  parameter +█")
        self.assertNotIn("unnamed", done.errors)

    def test_page_and_numbers(self):
        with tempfile.TemporaryDirectory() as folder:
            page, numbers = pathlib.Path(folder, "a.html"), pathlib.Path(folder, "a.json")
            done = self.tandem("run", "--memory", "--report", page, "--json", numbers, TRAIN, 4, 500)
            self.assertEqual(done.status, 0, done.errors)
            self.assertEqual([d["name"] for d in json.loads(numbers.read_text())["devices"]], [f"cuda:{i}" for i in range(4)])
            self.assertIn("<svg", page.read_text())

    def test_a_file_that_is_not_there(self):
        for words in (["run", "--memory"], ["memory"], ["memory", "--devices", "cuda:4"], ["run", "--largest-batch", "1,2"]):
            done = self.tandem(*words, "nowhere.py")
            self.assertEqual((done.status, done.errors), (1, f"tandem: {words[0]}: there is no file nowhere.py\n"))


if __name__ == "__main__":
    unittest.main()
