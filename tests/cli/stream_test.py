# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""stdout and stderr that cannot be written: progress is left out, but results are not lost silently."""

import json
import os
import resource
import subprocess

from program import DEADLINE, DIGITS, ProgramTest, environment, main, path

RUN = [*DIGITS, "--devices", "cpu:2"]
SMALL = [*RUN, "--steps", "1"]
COLLECTIVES = ["collectives", "--devices", "cpu:2", "-b", "4K", "-e", "4K", "--iterations", "1"]


def close_stderr():
    os.close(2)


class StreamTest(ProgramTest):
    def code(self, *arguments, **streams):
        """Exit status of a call whose streams the test chooses."""
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **streams}
        return subprocess.run([path(), *arguments], timeout=DEADLINE, env=environment(), check=False,
                              cwd=self.directory, **streams).returncode

    def test_progress_that_nobody_can_read_does_not_end_the_work(self):
        with open("/dev/full", "wb") as full:
            self.assertEqual(self.code("train", *SMALL, "--checkpoint", "run.st", stderr=full), 0)
            for command in (["compare"], ["compare", "--verify"]):
                self.assertEqual(self.code(*command, *SMALL, stderr=full), 0, command)
            self.assertEqual(self.code(*COLLECTIVES, stderr=full), 0)
        self.succeed("train", *RUN, "--steps", "2", "--checkpoint", "run.st", "--resume")

    def test_errors_that_nobody_can_read_keep_their_exit_status(self):
        with open("/dev/full", "wb") as full:
            self.assertEqual(self.code("devices", "--devices", "x", stderr=full), 2)
            self.assertEqual(self.code("fly", stderr=full), 2)
            self.assertEqual(self.code("generate", "--checkpoint", "none", stderr=full), 1)

    def test_a_closed_stderr_takes_no_text_into_a_file(self):
        self.assertEqual(self.code("train", *SMALL, "--checkpoint", "run.st", "--metrics", "run.csv",
                                   stderr=None, preexec_fn=close_stderr), 0)
        with open(self.file("run.csv"), encoding="utf-8") as lines:
            for line in lines:
                self.assertEqual(line.count(","), 3, line)
        self.succeed("train", *RUN, "--steps", "2", "--checkpoint", "run.st", "--resume")

    def test_a_reader_of_stderr_that_went_away(self):
        reader, writer = os.pipe()
        os.close(reader)
        self.addCleanup(os.close, writer)
        self.assertEqual(self.code("train", *SMALL, "--checkpoint", "run.st", stderr=writer), 0)
        self.succeed("train", *RUN, "--steps", "2", "--checkpoint", "run.st", "--resume")

    def test_a_limit_of_files_sizes_is_an_error_and_no_signal(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        done = subprocess.run([path(), "train", *SMALL, "--checkpoint", "run.st"], capture_output=True, text=True,
                              timeout=DEADLINE, env=environment(), cwd=self.directory, check=False, preexec_fn=limit)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "tandem: run.st at byte .*File too large")
        self.assertEqual(os.listdir(self.directory), [])

    def test_a_closed_stdout(self):
        done = subprocess.run([path(), "train", *SMALL, "--quiet", "--json", "run.json"], stderr=subprocess.PIPE, text=True,
                              timeout=DEADLINE, env=environment(), cwd=self.directory, check=False,
                              preexec_fn=lambda: os.close(1))
        self.assertEqual(done.returncode, 1)
        self.assertIn("tandem: stdout: cannot be written, and results are lost: Bad file descriptor", done.stderr)
        with open(self.file("run.json"), encoding="utf-8") as report:
            self.assertEqual(json.load(report)["steps"], 1)

    def test_results_that_cannot_be_written_are_an_error(self):
        gpt = ["--layers", "1", "--width", "8", "--heads", "1", "--context", "4", "--quiet"]
        text = ["train", "--data", "text", *gpt, "--batch", "2", "--steps", "1", "--checkpoint", "text.st"]
        self.succeed(*text)
        calls = [
            ["--help"], ["--version"], ["devices"], ["devices", "--json"], [*COLLECTIVES, "--json"],
            ["train", *SMALL], ["train", *SMALL, "--json", "-"], ["compare", "--verify", *SMALL],
            ["compare", *SMALL, "--modes", "single"], ["compare", *SMALL, "--modes", "single", "--html", "-"],
            ["memory", *SMALL], ["explain", *SMALL, "--trace", "-"],
            ["explain", "--model", "mlp", "--devices", "cpu:1", "--batch", "2"],
            ["largest-batch", *DIGITS[:2], "--model", "mlp", "--devices", "cpu:1@30MiB"],
            ["generate", "--checkpoint", "text.st", "--tokens", "2"],
        ]
        for call in calls:
            with self.subTest(call), open("/dev/full", "wb") as full:
                done = subprocess.run([path(), *call], stdout=full, stderr=subprocess.PIPE, text=True,
                                      timeout=DEADLINE, env=environment(), cwd=self.directory, check=False)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(done.stderr.splitlines()[-1],
                                 "^tandem: stdout: cannot be written, and results are lost: No space left")


if __name__ == "__main__":
    main()
