# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem launch starts processes of any program."""

import os
import signal
import subprocess

from program import DEADLINE, ProgramTest, environment, main, path


class LaunchTest(ProgramTest):
    def test_a_program_and_its_options(self):
        done = self.succeed("launch", "--nproc", "2", path(), "env")
        lines = sorted(done.stdout.splitlines())
        self.assertEqual([line[:17] for line in lines], ["[0] rank 0 of 2 (", "[1] rank 1 of 2 ("])
        done = self.succeed("launch", "--nproc", "2", "sh", "-c", "echo $LOCAL_RANK --nproc")
        self.assertEqual(sorted(done.stdout.splitlines()), ["[0] 0 --nproc", "[1] 1 --nproc"])
        done = self.succeed("launch", "--nproc=1", "--grace", "1", "--", "echo", "--", "--nproc")
        self.assertEqual(done.stdout, "[0] -- --nproc\n")

    def test_the_status_is_that_of_the_first_that_failed(self):
        done = self.run_program("launch", "--nproc", "2", "sh", "-c", "[ $RANK = 0 ] || { echo no >&2; exit 9; }")
        self.assertEqual(done.returncode, 9)
        self.assertTrue(done.stderr.endswith("ended first: exit status 9; its last lines:\nno\n"), done.stderr)

    def test_signals_reach_the_processes(self):
        script = "trap 'sleep 0.2; echo saved; exit 0' TERM INT HUP; echo ready; while :; do sleep 0.02; done"
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number), subprocess.Popen([path(), "launch", "--nproc", "2", "sh", "-c", script], text=True,
                                                        env=environment(), stdout=subprocess.PIPE) as run:
                for _ in range(2):
                    self.assertIn("ready", run.stdout.readline())
                run.send_signal(number)
                self.assertEqual(sorted(run.stdout.read().splitlines()), ["[0] saved", "[1] saved"])
                self.assertEqual(run.wait(DEADLINE), 128 + number)

    def test_a_full_stdout(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([path(), "launch", "echo", "lost"], stdout=full, stderr=subprocess.PIPE, text=True,
                                  env=environment(), timeout=DEADLINE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("stdout: cannot be written, and what rank 0 printed is lost: No space left", done.stderr)

    def test_no_library_of_the_current_folder(self):
        for name in ("tandem", "libtandem-gloo.so"):  # whoever can write there could put code into it
            with open(self.file(name), "w", encoding="utf-8") as file:
                file.write("no library")
        folder, name = os.path.split(path())
        done = self.run_program("launch", "--nproc", "2", name, "collectives", "--devices", "cpu:1", "-b", "4K", "-e", "4K",
                                "--iterations", "1", PATH=f"{folder}:{os.environ['PATH']}", TANDEM_PLUGINS="")
        self.assertNotIn("ELF", done.stderr)
        self.assertTrue(done.returncode == 0 or "built without it" in done.stderr, done.stderr)

    def test_wrong_lines(self):
        self.fail_with(2, "launch", says=["there is no program to start"])
        self.fail_with(2, "launch", "--nproc", "x", "true", says=["'x' is neither a number above 0 nor auto"])
        self.fail_with(1, "launch", "no-such-program", says=["'no-such-program' cannot be run"])
        self.fail_with(1, "launch", "--master", "nowhere", "true", says=["expected HOST:PORT"])


if __name__ == "__main__":
    main()
