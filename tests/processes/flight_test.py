# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever goes wrong between processes, tandem flight finds it in the records that they leave.

    flight_test.py PROGRAM TANDEM PAGE [MPIRUN]

PROGRAM is faulty_rank: when all others have come to collective 21, the first rank of process 1 does something else.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import slurm

PROGRAM, TANDEM, PAGE, *MPIRUN = sys.argv[1:]
del sys.argv[1:]
DEADLINE = 60
VICTIM, LAST = 1, 20
MPI_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


class FlightTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="tandem-flight-")
        self.addCleanup(directory.cleanup)
        self.records = os.path.join(directory.name, "records")
        self.environment = {**os.environ, **MPI_MAY, "OMP_NUM_THREADS": "1", "TANDEM_COMM_DUMP": self.records}

    def start(self, command, **variables):
        return subprocess.Popen(command, env=self.environment | variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run_by_hand(self, how, threads=2, **variables):
        """Two processes that nobody launched, so that nobody ends the other one."""
        where = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(slurm.free_ports(1)[0])}
        processes = [self.start([PROGRAM, how, str(threads), "gloo"], **where, **variables,
                                RANK=str(rank), LOCAL_RANK=str(rank)) for rank in (0, 1)]
        try:
            return "".join(process.communicate(timeout=DEADLINE)[0] for process in processes)
        finally:
            for process in processes:
                process.kill()

    def run_by(self, launcher, how, backend):
        with self.start([*launcher, PROGRAM, how, "2", backend]) as process:
            try:
                return process.communicate(timeout=DEADLINE)[0]
            finally:
                process.kill()

    def flight(self, printed):
        """The text, and the group with its run."""
        done = subprocess.run([TANDEM, "flight", self.records, "--json", self.records + ".result"], capture_output=True, text=True,
                              timeout=DEADLINE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), printed)
        with open(self.records + ".result", encoding="utf-8") as file:
            (run,) = json.load(file)["runs"]
        (group,) = run["groups"]
        return done.stdout, run, group

    def check_killed(self, printed):
        text, run, group = self.flight(printed)
        victim = run["processes"][VICTIM]
        self.assertEqual([len(process["records"]) for process in run["processes"]], [1, 0], printed)
        self.assertIn(f"process 1 on {victim['host']}, pid {victim['pid']} wrote no record", text)
        self.assertEqual(group["processes_without_record"], [VICTIM])
        first = group["collectives"][group["first_missing"]]
        self.assertEqual((first["number"], first["unknown"]), (LAST + 1, [2, 3]))
        self.assertIn(f"not known: rank 2 (cpu:0 of process 1 on {victim['host']}, pid {victim['pid']})", text)
        self.assertIn("its connection closed", group["failures"][0]["text"])

    def check_clocks(self, run, group):
        """No rank has the sum before all have come, by the one clock that all moments are on."""
        errors = [process["clock_error_us"] for process in run["processes"]]
        self.assertNotIn(None, errors)
        complete = [c for c in group["collectives"] if c["complete"] and len(c["arrivals"]) == 4]
        self.assertEqual([c["number"] for c in complete], list(range(1, LAST + 1)))
        for collective in complete:
            came = max(arrival["came_us"] for arrival in collective["arrivals"])
            ended = min(arrival["ended_us"] for arrival in collective["arrivals"])
            self.assertLessEqual(came, ended + sum(errors) + 2, collective)

    def check_thrown(self, printed):
        text, run, group = self.flight(printed)
        self.check_clocks(run, group)
        first = group["collectives"][group["first_missing"]]
        self.assertEqual((first["number"], first["missing"], first["unknown"]), (LAST + 1, [2], []), printed)
        at = {failure["process"]: failure["at_us"] for failure in group["failures"]}
        errors = sum(process["clock_error_us"] for process in run["processes"])
        self.assertLessEqual(at[VICTIM], at[0] + errors, "it failed first, by one clock")
        self.assertIn("the body fails", text)

    def check_other(self, printed):
        text, run, group = self.flight(printed)
        self.check_clocks(run, group)
        first = group["collectives"][group["first_difference"]]
        self.assertEqual(first["number"], LAST + 1)
        difference = first["difference"]
        self.assertEqual((difference["field"], difference["other_rank"], difference["other_value"]), ("operation", 2, "barrier"))
        self.assertEqual(difference["value"], "all_reduce")
        self.assertIn("ranks differ first in", text)

    def test_killed(self):
        self.check_killed(self.run_by_hand("kill"))

    def test_killed_under_tandem_launch(self):
        self.check_killed(self.run_by([TANDEM, "launch", "--nproc", "2"], "kill", "gloo"))

    def test_a_body_that_throws(self):
        self.check_thrown(self.run_by_hand("throw"))

    def test_another_collective(self):
        self.check_other(self.run_by_hand("other"))

    @unittest.skipUnless(MPIRUN, "built without MPI")
    def test_another_collective_over_mpi(self):
        self.check_other(self.run_by([*MPIRUN, "-n", "2"], "other", "mpi"))

    def test_a_process_that_leaves_early(self):
        """Its record says how far it came, as it is written at a good end, too."""
        printed = self.run_by_hand("leave", threads=1, TANDEM_COMM_DUMP_AT_END="1")
        text, run, group = self.flight(printed)
        self.assertEqual([len(process["records"]) for process in run["processes"]], [1, 1], printed)
        first = group["collectives"][group["first_missing"]]
        self.assertEqual((first["number"], first["missing"]), (LAST + 1, [1]))
        self.assertEqual([failure["process"] for failure in group["failures"]], [0])
        self.assertIn("not there: rank 1 (cpu:0 of process 1", text)

    def test_commands_of_the_page(self):
        """Those of docs/processes.md, on a program whose rank 2 throws, print what the page shows, numbers apart."""
        with open(PAGE, encoding="utf-8") as file:
            commands, shown = re.search(r"## Flight records\n.*?```sh\n(.*?)```\n\n```\n(.*?)```", file.read(), re.DOTALL).groups()
        folder = os.path.dirname(self.records)
        os.symlink(TANDEM, os.path.join(folder, "tandem"))
        with open(os.path.join(folder, "program"), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec {PROGRAM} throw 2 gloo\n")
        os.chmod(os.path.join(folder, "program"), 0o755)
        done = subprocess.run(commands, shell=True, cwd=folder, capture_output=True, text=True, timeout=DEADLINE, check=False,
                              env=self.environment | {"PATH": f"{folder}:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, 0, done.stderr)

        def without_values(line):
            line = re.sub(", to which .*", "", line)
            return re.sub(r"on \S+, pid", "pid", re.sub(r"[\d.]+", "0", line))

        printed = [without_values(line) for line in done.stdout.splitlines()]
        for line in shown.splitlines()[1:-2]:
            self.assertIn(without_values(line), printed)

    def test_names_of_files_say_the_process(self):
        printed = self.run_by_hand("throw")
        names = sorted(os.path.basename(path) for path in glob.glob(os.path.join(self.records, "*")))
        self.assertEqual([name.rsplit("_", 2)[0] for name in names], ["tandem_comm_0", "tandem_comm_1"], printed)


if __name__ == "__main__":
    unittest.main()
