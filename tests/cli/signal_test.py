# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Signals to a run: the first saves and ends it, the second ends it at once, and SIGUSR1 makes it print its state."""

import contextlib
import json
import os
import signal
import subprocess
import time

from program import DEADLINE, DIGITS, ProgramTest, environment, main, path

LONG = ["train", *DIGITS, "--devices", "cpu:2", "--epochs", "100000", "--json", "run.json"]
SLOW = ["train", *DIGITS[:2], "--model", "resnet18", "--batch", "1437", "--devices", "cpu:1", "--epochs", "1000"]


class SignalTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.checkpoint = self.file("run.safetensors")

    @contextlib.contextmanager
    def running(self, *arguments, **options):
        """A run in its loop: the file of metrics has begun."""
        with open(self.file("err"), "w+", encoding="utf-8") as err, \
             subprocess.Popen([path(), *arguments, "--metrics", "run.csv"], env=environment(), cwd=self.directory,
                              stdout=subprocess.DEVNULL, stderr=err, **options) as run:
            try:
                self.wait_for(lambda: os.path.exists(self.file("run.csv")))
                yield run
            finally:
                run.kill()

    def wait_for(self, condition):
        deadline = time.monotonic() + DEADLINE
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def error_text(self):
        with open(self.file("err"), encoding="utf-8") as err:
            return err.read()

    def steps(self):
        with open(self.file("run.csv"), encoding="utf-8") as lines:
            return sum(",train/loss," in line for line in lines)

    def test_each_wish_to_end_saves_and_is_named(self):
        for number, name in ((signal.SIGHUP, "SIGHUP"), (signal.SIGTERM, "SIGTERM"), (signal.SIGINT, "SIGINT")):
            with self.subTest(name), self.running(*LONG, "--checkpoint", self.checkpoint) as run:
                self.wait_for(self.steps)
                run.send_signal(number)
                self.assertEqual(run.wait(DEADLINE), 128 + number)
                self.assertRegex(self.error_text(), r"interrupted after step \d+; --checkpoint .* --resume continues the run")
                with open(self.file("run.json"), encoding="utf-8") as report:
                    self.assertEqual(json.load(report)["interrupted"], name)
            step = int(self.error_text().split("interrupted after step ")[1].split(";")[0])
            done = self.succeed(*LONG, "--checkpoint", self.checkpoint, "--resume", "--steps", str(step + 1))
            self.assertIn(f"at step {step}", done.stderr)
            with open(self.file("run.json"), encoding="utf-8") as report:
                self.assertIsNone(json.load(report)["interrupted"])
            os.remove(self.checkpoint)
            os.remove(self.file("run.csv"))

    def test_a_second_wish_ends_at_once_whichever_it_is(self):
        with self.running(*SLOW, "--checkpoint", self.checkpoint) as run:  # a step of seconds
            run.send_signal(signal.SIGSTOP)  # so that it gets both before it can end the step
            run.send_signal(signal.SIGINT)
            run.send_signal(signal.SIGTERM)
            run.send_signal(signal.SIGCONT)
            # Of two at once the system chooses which is told first.
            self.assertIn(run.wait(DEADLINE), (128 + signal.SIGTERM, 128 + signal.SIGINT))
            self.assertNotIn("interrupted after", self.error_text())
            self.assertFalse(os.path.exists(self.checkpoint))

    def test_nohup(self):
        with self.running(*LONG, "--checkpoint", self.checkpoint, preexec_fn=lambda: signal.signal(
                signal.SIGHUP, signal.SIG_IGN)) as run:
            self.wait_for(self.steps)
            run.send_signal(signal.SIGHUP)
            before = self.steps()
            self.wait_for(lambda: self.steps() > before + 5)
            run.send_signal(signal.SIGTERM)
            self.assertEqual(run.wait(DEADLINE), 128 + signal.SIGTERM)

    def test_status_is_told_and_the_run_goes_on(self):
        with self.running(*LONG, "--quiet") as run:
            self.wait_for(self.steps)
            for times in (1, 2):
                run.send_signal(signal.SIGUSR1)
                self.wait_for(lambda: self.error_text().count("  cpu:1: last operation ") == times)
            self.assertRegex(self.error_text(), r"^SIGUSR1: after step \d+\n  cpu:0: last operation \w+, [\d.]+ \w+ "
                             r"in use, [\d.]+ \w+ at most so far, limit none\n  cpu:1")
            before = self.steps()
            self.wait_for(lambda: self.steps() > before + 5)
            run.send_signal(signal.SIGTERM)
            self.assertEqual(run.wait(DEADLINE), 128 + signal.SIGTERM)


if __name__ == "__main__":
    main()
