# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever way a process ends in, in whatever collective, every other rank names it.

    who_died_test.py PROGRAM [--all [REPEATS]]

Without --all it tries every way to end in one collective, and one way in the others.
"""

import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import unittest

from hosts import Hosts

PROGRAM = sys.argv.pop(1)
ALL = sys.argv[1:2] == ["--all"]
REPEATS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
del sys.argv[1:]
COLLECTIVES = ["broadcast", "all_reduce", "all_gather", "reduce_scatter", "barrier", "send"]
WAYS = ["exit0", "exit1", "throw", "unwind", "leave", "abort", "kill", "stop"]
PROCESSES, VICTIM, THREADS = 3, 1, 2
MOST_SECONDS = {"stop": 3 + 1.5, "cut": 3 + 1.5}  # the time-out of the ranks is 3 s; they say so within a second
IN_TIME = 1.5
SILENT = "no sign of life for|silent for"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run(collective, how, victim=VICTIM, hosts=None):
    """What each process prints, and the pids. With hosts each has one, and the victim's link is cut in the end."""
    env = {**os.environ, "WORLD_SIZE": str(PROCESSES), "MASTER_ADDR": hosts.address(0) if hosts else "127.0.0.1",
           "MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1", "LOCAL_WORLD_SIZE": str(PROCESSES)}
    command = [PROGRAM, collective, how, str(victim), str(THREADS), "gloo"]
    processes = [subprocess.Popen(hosts.command_on(rank, command) if hosts else command, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, env={**env, "RANK": str(rank), "LOCAL_RANK": str(rank)})
                 for rank in range(PROCESSES)]
    try:
        out = {}
        said = ""
        if hosts:
            said = processes[victim].stdout.readline()
            hosts.cut(victim)
        for rank, process in enumerate(processes):
            if rank != victim:
                out[rank] = process.communicate(timeout=40)[0]
        if how == "stop":
            processes[victim].send_signal(signal.SIGKILL)
        out[victim] = said + processes[victim].communicate(timeout=10)[0]
    finally:
        for process in processes:
            process.kill()
    return [out[rank] for rank in range(PROCESSES)], [process.pid for process in processes]


class WhoDiedTest(unittest.TestCase):
    def check(self, collective, how, victim=VICTIM, hosts=None):
        out, pids = run(collective, how, victim, hosts)
        died = float(re.search(r"dies ([\d.]+)", out[victim]).group(1))
        for rank, text in enumerate(out):
            if rank == victim:
                continue
            seen = re.search(r"saw ([\d.]+) (.*)", text, re.DOTALL)
            self.assertTrue(seen, text)
            said = seen.group(2)
            first = victim * THREADS
            name = rf"rank(s|) ({first}|{first + 1})( to {first + 1}|) \((cpu:[01] |)of process {victim} on {re.escape(socket.gethostname())}, pid {pids[victim]}\)"
            self.assertRegex(said, name)
            self.assertRegex(said, {"throw": "the body fails", "unwind": "the body fails", "leave": "was destroyed", "stop": SILENT, "cut": SILENT}.get(how, "ended: its connection closed"))
            if collective != "send":
                self.assertRegex(said, rf"{collective} number \d+")
            self.assertLess(float(seen.group(1)) - died, MOST_SECONDS.get(how, IN_TIME), said)

    def test_every_way_in_every_collective(self):
        for _, collective, how in itertools.product(range(REPEATS), COLLECTIVES, WAYS):
            if ALL or how == "kill" or collective == "all_reduce":
                with self.subTest(collective=collective, how=how):
                    self.check(collective, how)

    def test_process_0(self):
        for _, how in itertools.product(range(REPEATS), WAYS):
            with self.subTest(how=how):
                self.check("all_reduce", how, victim=0)

    def test_a_link_is_cut(self):
        for _, collective in itertools.product(range(REPEATS), COLLECTIVES if ALL else ["all_reduce"]):
            try:
                hosts = Hosts(PROCESSES)
            except (OSError, subprocess.CalledProcessError) as error:
                self.skipTest(f"this machine makes no network namespaces: {error}")
            with self.subTest(collective=collective), hosts:
                self.check(collective, "cut", hosts=hosts)


if __name__ == "__main__":
    unittest.main()
