# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What `tandem collectives` measures and says."""

import json
import re

from program import ProgramTest, main

FEW = ["--iterations", "3", "--warmup", "1"]


class CollectivesTest(ProgramTest):
    def rows(self, *arguments):
        return json.loads(self.succeed("collectives", "--json", *FEW, *arguments).stdout)["rows"]

    def test_table_has_a_line_for_each_size(self):
        done = self.succeed("collectives", "--op", "all_reduce", "--devices", "cpu:2", "-b", "4K", "-e", "64K", "-f", "4",
                            *FEW)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "all_reduce by direct (local), 2 ranks, f32, 3 iterations")
        self.assertEqual(lines[2].split(), ["bytes", "count", "p50", "us", "p99", "us", "algbw", "GB/s", "busbw", "GB/s",
                                            "#wrong", "model", "us"])
        rows = [line.split() for line in lines[3:6]]
        self.assertEqual([row[:2] for row in rows], [["4096", "1024"], ["16384", "4096"], ["65536", "16384"]])
        self.assertEqual({row[6] for row in rows}, {"0"})
        self.assertIn("fitted on this run", lines[-1])
        self.assertEqual(len(done.stderr.splitlines()), 3, "one line of progress for each size")

    def test_json_rows_add_up(self):
        rows = self.rows("--devices", "cpu:4", "-b", "4K", "-e", "16M", "-f", "4096")
        self.assertEqual([row["bytes"] for row in rows], [4096, 16 << 20])
        for row in rows:
            self.assertEqual((row["op"], row["algorithm"], row["ranks"], row["wrong"]), ("all_reduce", "direct", 4, 0))
            time = row["time_us"]
            self.assertLessEqual(0, time["p50"])
            self.assertLessEqual(time["p50"], time["p99"])
            self.assertAlmostEqual(row["algbw_GBps"] * time["p50"], row["bytes"] * 1e-3, places=3)
            self.assertAlmostEqual(row["busbw_GBps"], 1.5 * row["algbw_GBps"], places=6)
            self.assertGreater(row["model_us"], 0)

    def test_every_algorithm_and_op(self):
        named = re.search(r"--algorithm TEXT:{([\w,]+)}", self.succeed("collectives", "--help").stdout)
        algorithms = named.group(1).split(",")
        self.assertGreaterEqual(len(algorithms), 10)
        for algorithm in algorithms:
            self.assertEqual([row["wrong"] for row in self.rows("--devices", "cpu:4", "-b", "1K", "-e", "100K", "-f", "100",
                                                                "--algorithm", algorithm)], [0, 0], algorithm)
        for op in ("broadcast", "reduce", "all_gather", "reduce_scatter"):
            for dtype in ("f64", "bf16", "i64"):
                rows = self.rows("--devices", "cpu:3", "-b", "1000", "-e", "1000", "--op", op, "--dtype", dtype)
                self.assertEqual([row["wrong"] for row in rows], [0], op)

    def test_one_device_has_nothing_to_do(self):
        self.assertEqual([(row["wrong"], row["steps"]) for row in self.rows("--devices", "cpu:1", "-b", "4K", "-e", "4K")],
                         [(0, 0)])

    def test_quiet_has_no_progress(self):
        done = self.succeed("collectives", "--devices", "cpu:2", "-b", "4K", "-e", "4K", "--quiet", *FEW)
        self.assertEqual(done.stderr, "")

    def test_the_environment_names_the_machine(self):
        run = ["collectives", "-b", "1M", "-e", "1M", "--json"]
        given = json.loads(self.succeed(*run, "--cluster", "t4x4", "--gpus", "2").stdout)
        self.assertEqual(json.loads(self.succeed(*run, "--gpus", "2", TANDEM_CLUSTER="t4x4").stdout), given)
        here = json.loads(self.succeed(*run, "--devices", "cpu:2", *FEW, TANDEM_CLUSTER="t4x4").stdout)
        self.assertEqual(here["devices"], ["cpu:0", "cpu:1"])
        self.fail_with(2, *run, says=["TANDEM_CLUSTER: 't5'", "t4x4"], TANDEM_CLUSTER="t5")
        self.fail_with(2, *run, "--cluster", "t4x4", "--devices", "cpu:2", says=["--devices", "--cluster", "give one"])

    def test_help_has_its_options(self):
        text = self.succeed("collectives", "--help-all").stdout
        for option in ("--op", "--devices", "--min-bytes", "--max-bytes", "--factor", "--iterations", "--warmup",
                       "--dtype", "--algorithm", "--json", "--quiet"):
            self.assertIn(option, text)

    def test_wrong_command_lines_are_one_sentence(self):
        self.fail_with(2, "collectives", "--op", "all_to_none", says=["--op", "all_to_none", "all_reduce"])
        self.fail_with(2, "collectives", "-b", "4Q", says=["--min-bytes", "4Q", "512MiB"])
        self.fail_with(2, "collectives", "-b", "2M", "-e", "1M", says=["--min-bytes 2M", "--max-bytes 1M"])
        self.fail_with(2, "collectives", "-f", "1", says=["--factor", "at least 2"])
        self.fail_with(2, "collectives", "--iterations", "0", says=["--iterations", "at least 1"])
        self.fail_with(2, "collectives", "--dtype", "bool", says=["--dtype", "bool", "f32"])
        self.fail_with(2, "collectives", "--algorithm", "rong", says=["--algorithm", "rong", "ring"])
        self.fail_with(2, "collectives", "--devices", "cpu:3", "--algorithm", "butterfly",
                       says=["butterfly", "not 3", "halving_doubling"])
        self.fail_with(2, "collectives", "--devices", "cpu:2", "--op", "all_gather", "--algorithm", "ring",
                       says=["ring has no all_gather", "direct"])
        self.fail_with(2, "collectives", "--devices", "cpu:4", "--algorithm", "hierarchical_ring", "--group", "3",
                       says=["hierarchical_ring", "4 ranks", "not 3"])
        self.fail_with(2, "collectives", "--devices", "cpu:2", "--segment", "0", says=["--segment", "'0'", "512MiB"])
        self.fail_with(2, "collectives", "--devices", "cpu:2", "--backend", "gloo", says=["--backend", "gloo", "nccl"])
        self.fail_with(2, "collectives", "--devices", "cpu:2", "--backend", "nccl",
                       says=["make_group: ", "use backend local"])  # no GPU, or no NCCL

    def test_segments_and_groups_change_the_schedule(self):
        def steps(*arguments):
            return self.rows("--devices", "cpu:4", "-b", "64K", "-e", "64K", *arguments)[0]["steps"]

        ring = "--algorithm", "segmented_ring"
        self.assertEqual([steps(*ring, "--segment", size) for size in ("1K", "4K", "16K")], [17 * 3, 5 * 3, 2 * 3])
        self.assertEqual(steps("--algorithm", "torus_2d", "--group", "2"), steps("--algorithm", "torus_2d"))


if __name__ == "__main__":
    main()
