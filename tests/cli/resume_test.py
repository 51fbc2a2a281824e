# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints, --resume and interruption."""

import json
import os
import signal
import subprocess
import time

from program import DEADLINE, DIGITS, ProgramTest, environment, main, path


class ResumeTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.checkpoint = self.file("run.safetensors")

    def train(self, *arguments, devices="cpu:2", checkpoint=None):
        return ["train", *DIGITS, "--devices", devices, "--checkpoint",
                checkpoint or self.checkpoint, *arguments]

    def content(self, name):
        with open(name, "rb") as file:
            return file.read()

    def test_a_run_in_two_parts_is_the_run_in_one(self):
        whole = self.file("whole.safetensors")
        one = json.loads(self.succeed(*self.train("--epochs", "2", "--json", "-", checkpoint=whole)).stdout)
        self.succeed(*self.train("--epochs", "2", "--steps", "30"))
        done = self.succeed(*self.train("--epochs", "2", "--json", "-", "--resume"))
        rest = json.loads(done.stdout)
        self.assertIn("at step 30", done.stderr)
        self.assertEqual(rest["steps"], 16)
        self.assertEqual([e["epoch"] for e in rest["epochs"]], [2])
        for figure in ("loss", "test_accuracy"):
            self.assertEqual(rest["epochs"][0][figure], one["epochs"][1][figure])
        self.assertEqual(self.content(self.checkpoint), self.content(whole))

    def test_resume_keeps_the_seed_of_the_run(self):
        self.succeed(*self.train("--steps", "2", "--seed", "9"))
        report = json.loads(self.succeed(*self.train("--steps", "4", "--resume", "--json", "-")).stdout)
        self.assertEqual(report["seed"], 9)

    def test_what_a_run_has_from_its_beginning_cannot_change(self):
        self.succeed(*self.train("--steps", "2", "--seed", "9", "--lr", "0.0003"))
        before = self.content(self.checkpoint)
        self.fail_with(1, *self.train("--steps", "4", "--resume", "--seed", "7"),
                       says=[self.checkpoint, "--seed 9, not 7", "leave out --seed"])
        self.fail_with(1, *self.train("--steps", "4", "--resume", "--lr", "0.003"),
                       says=[self.checkpoint, "--lr 0.0003, not 0.003", "leave out --lr"])
        self.assertEqual(self.content(self.checkpoint), before)
        self.succeed(*self.train("--steps", "4", "--resume", "--seed", "9", "--lr", "0.0003"))

    def test_a_new_run_says_what_it_replaces(self):
        self.assertNotIn("replace", self.succeed(*self.train("--steps", "3")).stderr)
        done = self.succeed(*self.train("--steps", "1"))
        self.assertRegex(done.stderr, "run.safetensors holds a run of cnn-small 1x8x8 f32, adamw at step 3, which "
                         "this run's first save will replace; --resume would continue it")
        self.assertNotIn("replace", self.succeed(*self.train("--steps", "2", "--resume")).stderr)
        self.assertEqual(self.succeed(*self.train("--steps", "1", "--quiet")).stderr, "")
        with open(self.checkpoint, "w", encoding="utf-8") as file:
            file.write("notes")
        self.assertIn("holds something other than a checkpoint, which this run's first save will replace", self.succeed(*self.train("--steps", "1")).stderr)

    def test_resume_without_a_file_says_what_to_do(self):
        self.fail_with(1, *self.train("--resume"), says=[self.checkpoint, "leave out --resume"])

    def test_checkpoint_of_another_model_and_foreign_files(self):
        self.succeed(*self.train("--steps", "2", "--quiet"))
        before = self.content(self.checkpoint)
        self.fail_with(1, *self.train("--resume", "--model", "mlp"),
                       says=[self.checkpoint, "cnn-small 1x8x8 f32", "mlp 1x8x8 f32", "another file"])
        self.fail_with(1, *self.train("--resume", "--dtype", "f64"), says=["f32", "f64"])
        self.fail_with(1, *self.train("--resume", "--optimizer", "sgd"), says=["adamw", "sgd"])
        self.fail_with(1, "train", "--data", "digits", "--batch", "32", "--checkpoint", self.checkpoint,
                       "--resume", says=["2 batches of 64 rows", "32", "same batch size"])
        self.assertEqual(self.content(self.checkpoint), before)
        with open(self.checkpoint, "wb") as file:
            file.write(before[:len(before) // 2])
        self.fail_with(1, *self.train("--resume"), says=[self.checkpoint, "at byte"])
        with open(self.checkpoint, "wb") as file:
            file.write(b"a text, and no checkpoint at all")
        self.fail_with(1, *self.train("--resume"), says=[self.checkpoint])

    def test_interrupted_run_leaves_a_checkpoint_to_go_on_from(self):
        # Many more epochs than the test has time for.
        with subprocess.Popen([path(), *self.train("--epochs", "100000")], env=environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            try:
                deadline = time.monotonic() + DEADLINE
                while not os.path.exists(self.checkpoint) and time.monotonic() < deadline:
                    time.sleep(0.02)
                run.send_signal(signal.SIGINT)
                out, err = run.communicate(timeout=DEADLINE)
            finally:
                run.kill()
        self.assertEqual(run.returncode, 130, err)
        self.assertIn("step:", out)
        self.assertRegex(err, r"interrupted after step \d+; --checkpoint .* --resume continues the run")
        step = int(err.split("interrupted after step ")[1].split(";")[0])
        done = self.succeed(*self.train("--epochs", "100000", "--steps", str(step + 2), "--resume"))
        self.assertIn(f"at step {step}", done.stderr)
        self.assertEqual(os.listdir(self.directory), ["run.safetensors"])  # no temporary is left


if __name__ == "__main__":
    main()
