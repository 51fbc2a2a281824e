# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Limits of the system that are too small for a run: the program says so before the work, and neither crashes nor hangs."""

import os
import resource
import subprocess
import unittest

from program import DEADLINE, DIGITS, ProgramTest, environment, main, path

MIB = 1 << 20
RUN = ["train", *DIGITS, "--devices", "cpu:4", "--steps", "1", "--quiet"]
NOBODY = 54321  # an id that has no other processes, of which the limit is


def limited(kind, size, user=None):
    def set_limit():
        resource.setrlimit(kind, (size, size))
        if user is not None:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
    return set_limit


class LimitTest(ProgramTest):
    def refused(self, *arguments, says, limit):
        done = subprocess.run([path(), *arguments], capture_output=True, text=True, timeout=DEADLINE, check=False,
                              env=environment(OMP_NUM_THREADS="1"), preexec_fn=limit)
        self.assertEqual(done.returncode, 1, done.stderr)
        for part in says:
            self.assertIn(part, done.stderr.splitlines()[-1])

    def test_address_space(self):
        for mib in (300, 450, 700):
            self.refused(*RUN, limit=limited(resource.RLIMIT_AS, mib * MIB),
                         says=["tandem: the limit on address space is", "4 devices", "ulimit -v", "fewer devices"])

    def test_the_program_ends_where_openblas_gets_no_memory(self):
        for _ in range(40):  # its threads hung in about one of 25 runs
            self.refused(*RUN, limit=limited(resource.RLIMIT_AS, 256 * MIB), says=["tandem: the limit on address space is"])

    def test_too_little_to_begin(self):
        for kind, mib, says in ((resource.RLIMIT_AS, 200, ["address space is below the 256 MiB", "ulimit -v"]),
                                (resource.RLIMIT_DATA, 50, ["data is below the 160 MiB", "ulimit -d"])):
            self.refused("--version", limit=limited(kind, mib * MIB), says=says)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be another user")
    def test_no_thread_at_all(self):
        self.refused("--version", limit=limited(resource.RLIMIT_NPROC, 1, NOBODY), says=["processes is 1", "ulimit -u"])

    def test_data(self):
        self.refused(*RUN, limit=limited(resource.RLIMIT_DATA, 300 * MIB),
                     says=["tandem: the limit on data is 300.0 MiB", "4 devices", "ulimit -d"])

    def test_stack(self):
        for kib in (64, 128, 200):
            self.refused("--help", limit=limited(resource.RLIMIT_STACK, kib << 10),
                         says=[f"tandem: the limit on the stack is {kib << 10} bytes", "ulimit -s"])

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be another user")
    def test_threads(self):
        self.refused("collectives", "--devices", "cpu:16", "-e", "4K",
                     limit=limited(resource.RLIMIT_NPROC, 4, NOBODY), says=["threads can be started", "ulimit -u"])

    def test_memory_that_runs_out_is_told_with_figures(self):
        with open(self.file("text"), "wb") as text:
            text.truncate(1024 * MIB)
        self.refused("train", "--data", "text", "--text", self.file("text"), "--devices", "cpu:1",
                     limit=limited(resource.RLIMIT_AS, 800 * MIB),
                     says=["no more memory; the process has", "(limit 800.0 MiB)", "the machine"])

    def test_enough_is_enough(self):
        for kind, size in ((resource.RLIMIT_AS, 2000 * MIB), (resource.RLIMIT_DATA, 2000 * MIB),
                           (resource.RLIMIT_STACK, 256 << 10)):
            done = subprocess.run([path(), *RUN], capture_output=True, text=True, timeout=DEADLINE, check=False,
                                  env=environment(), preexec_fn=limited(kind, size))
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    main()
