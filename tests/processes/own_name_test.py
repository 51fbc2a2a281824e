# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Processes of two hosts meet by the first one's name, which is 127.0.1.1 to itself, as on Debian: own_name_test.py DYING_RANKS.

They have met, and gloo has connected them, once process 0 hears that the other one has left their group.
"""

import os
import shlex
import subprocess
import sys
import tempfile
import unittest

from hosts import Hosts

PROGRAM = sys.argv.pop(1)
DEADLINE = 60  # seconds


class OwnNameTest(unittest.TestCase):
    def start(self, hosts, rank, folder):
        """Process `rank` on a host of its own, with its name and its table of names."""
        names = os.path.join(folder, str(rank))
        with open(names, "w", encoding="utf-8") as file:
            file.write(f"127.0.0.1 localhost\n127.0.1.1 node{rank}\n{hosts.address(1 - rank)} node{1 - rank}\n")
        script = (f"hostname node{rank} && mount --bind {shlex.quote(names)} /etc/hosts && "
                  f"exec {shlex.quote(PROGRAM)} all_reduce leave 1 1 gloo")
        env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "node0", "MASTER_PORT": "29525", "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(hosts.command_on(rank, ["unshare", "-u", "-m", "sh", "-c", script]), env=env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_the_first_host_is_reached_by_its_name(self):
        try:
            hosts = Hosts(2)
        except (OSError, subprocess.CalledProcessError) as error:
            self.skipTest(f"this machine makes no network namespaces: {error}")
        with hosts, tempfile.TemporaryDirectory(prefix="tandem-names-") as folder:
            processes = [self.start(hosts, rank, folder) for rank in range(2)]
            try:
                texts = [process.communicate(timeout=DEADLINE)[0] for process in processes]
            finally:
                for process in processes:
                    process.kill()
        self.assertRegex(texts[0], r"rank 1 \(cpu:0 of process 1 on node1, pid \d+\) was destroyed", texts)


if __name__ == "__main__":
    unittest.main()
