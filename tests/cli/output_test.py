# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Files that the program writes, pipes and devices too: they are tried before the work, and no two share a place."""

import json
import os
import subprocess
import threading

from program import DEADLINE, DIGITS, ProgramTest, environment, main, path

RUN = ["train", *DIGITS, "--devices", "cpu:1", "--steps", "1"]


class OutputTest(ProgramTest):
    def refuse(self, option, place, *says):
        """Asserts that a place is refused before the run prints anything, and that no file is left behind."""
        before = sorted(os.listdir(self.directory))
        done = self.fail_with(1, *RUN, option, place, says=says)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(sorted(os.listdir(self.directory)), before)

    def test_places_that_cannot_be_written_are_found_before_the_run(self):
        os.symlink("nowhere", self.file("dangling.csv"))
        os.symlink("loop.csv", self.file("loop.csv"))
        os.mkdir(self.file("folder.csv"))
        for option in ("--json", "--checkpoint", "--metrics"):
            self.refuse(option, self.file("no/where.csv"), self.file("no/where.csv"), "No such file")
            self.refuse(option, self.file("folder.csv"), self.file("folder.csv"))
            self.refuse(option, self.file("x" * 252 + ".csv"), "File name too long")
            self.refuse(option, self.file("dangling.csv"), "dangling.csv")
            self.refuse(option, self.file("loop.csv"), "loop.csv")
        self.refuse("--checkpoint", "/dev/null", "/dev/null", "not a regular file")
        self.fail_with(1, "compare", *RUN[1:], "--html", "r.html", "--json", self.file("no/x"), says=["no/x"])
        self.assertFalse(os.path.exists(self.file("r.html")))

    def test_one_file_for_two_options_is_refused(self):
        os.symlink("run.csv", self.file("link.csv"))
        with open(self.file("run.csv"), "w", encoding="utf-8") as file:
            file.write("kept")
        for one, other in (("--checkpoint", "--json"), ("--checkpoint", "--metrics"), ("--json", "--metrics")):
            for place in ("run.csv", "./run.csv", self.file("run.csv"), "link.csv"):
                self.fail_with(2, *RUN, one, "run.csv", other, place, says=[one, other, place, "two files"])
        self.fail_with(2, "train", "--data", "text", "--text", "run.csv", "--checkpoint", "run.csv",
                       says=["--text", "--checkpoint"])
        self.fail_with(2, "compare", *RUN[1:], "--html", "x", "--json", "./x", says=["--html and --json"])
        with open(self.file("run.csv"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "kept")

    def test_devices_and_pipes_take_results(self):
        self.succeed(*RUN, "--json", "/dev/null", "--metrics", "/dev/null")
        done = self.succeed(*RUN, "--json", "/dev/stdout")
        self.assertEqual(json.loads(done.stdout)["steps"], 1)
        os.mkfifo(self.file("pipe"))
        read = []

        def reader():
            with open(self.file("pipe"), encoding="utf-8") as pipe:
                read.append(pipe.read())

        thread = threading.Thread(target=reader, daemon=True)
        thread.start()
        self.succeed(*RUN, "--json", "pipe")
        thread.join(DEADLINE)
        self.assertEqual(json.loads(read[0])["steps"], 1)
        command = 'exec "$0" "$@" --json >(cat > out.json)'
        subprocess.run(["bash", "-c", command, path(), *RUN], timeout=DEADLINE, env=environment(), check=True,
                       cwd=self.directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def test_a_device_that_is_full_is_an_error_after_the_run(self):
        done = self.run_program(*RUN, "--json", "/dev/full")
        self.assertEqual(done.returncode, 1)
        self.assertIn("tandem: /dev/full: cannot be written any more: No space left", done.stderr)


if __name__ == "__main__":
    main()
