# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem cluster sweep: simulated steps by number of GPUs, rows, bandwidth of links and mode."""

import json

from program import ProgramTest, main


class SweepTest(ProgramTest):
    def points(self, *arguments):
        report = json.loads(self.succeed("cluster", "sweep", *arguments, "--json").stdout)
        return {(p["mode"], p["gpus"], p["rows_per_gpu"], p["bandwidth"]): p for p in report["points"]}

    def test_all_combinations_are_there_once(self):
        points = self.points("--cluster", "a100-80x8", "--model", "gpt2", "--gpus", "1,2,4", "--rows-per-gpu", "1,2",
                             "--bandwidths", "0.5,1", "--modes", "single,ddp,dp-classic")
        expected = {(mode, gpus, rows, bandwidth) for rows in (1, 2) for bandwidth in (0.5, 1)
                    for mode, gpus in (("single", 1), ("ddp", 2), ("dp-classic", 2), ("ddp", 4), ("dp-classic", 4))}
        self.assertEqual(set(points), expected)

    def test_repeated_values_are_taken_once(self):
        arguments = ["--cluster", "t4x4", "--model", "mlp", "--gpus", "2,1,2", "--modes", "ddp,single,ddp", "--rows-per-gpu", "4,4",
                     "--bandwidths", "1,1.0"]
        points = json.loads(self.succeed("cluster", "sweep", *arguments, "--json").stdout)["points"]
        self.assertEqual([(p["mode"], p["gpus"]) for p in points], [("ddp", 2), ("single", 1)])

    def test_a_point_is_the_step_that_simulate_takes(self):
        points = self.points("--cluster", "titan-rtx-x2", "--model", "gpt2", "--gpus", "1,2", "--modes", "single,dp-classic")
        step = json.loads(self.succeed("cluster", "simulate", "--cluster", "titan-rtx-x2", "--model", "gpt2", "--mode", "dp-classic",
                                       "--batch", "8", "--json").stdout)
        both = points["dp-classic", 2, 4, 1]
        self.assertEqual(both["step_ms"], step["step_ms"])
        self.assertEqual(both["gpu0_peak_bytes"], step["gpus"][0]["peak_bytes"])
        self.assertEqual(both["other_peak_bytes"], step["gpus"][1]["peak_bytes"])
        self.assertAlmostEqual(both["efficiency"], points["single", 1, 4, 1]["step_ms"] / both["step_ms"])
        self.assertAlmostEqual(both["rows_per_second"], 8e3 / both["step_ms"])
        # One GPU alone gathers nothing, wherever the loss of the others is.
        same = self.points("--cluster", "titan-rtx-x2", "--model", "gpt2", "--gpus", "2", "--modes", "dp-classic", "--no-loss-in-replica")
        self.assertEqual(same["dp-classic", 2, 4, 1], both)

    def test_slower_links_cost_what_their_bytes_say(self):
        points = self.points("--cluster", "titan-rtx-x2", "--model", "gpt2", "--gpus", "2", "--modes", "dp-classic", "--bandwidths", "0.1,1")
        # 498 MB of parameters, as many of gradients, and 2 x 823 MB of logits and their gradients, one after the other.
        longer = points["dp-classic", 2, 4, 0.1]["step_ms"] - points["dp-classic", 2, 4, 1]["step_ms"]
        moved = 2 * 497.76e6 + 2 * 4 * 1024 * 50257 * 4
        self.assertAlmostEqual(longer / (moved / 50e9 * 9 * 1e3), 1, delta=0.15)

    def test_what_does_not_fit_is_said(self):
        arguments = ["--cluster", "t4x4", "--model", "gpt2-xl", "--gpus", "2", "--modes", "ddp"]
        self.assertFalse(self.points(*arguments)["ddp", 2, 4, 1]["fits"])
        self.assertIn("does not fit", self.succeed("cluster", "sweep", *arguments).stdout)

    def test_a_thousand_gpus(self):
        points = self.points("--cluster", "a100-80x8-8-nodes", "--nodes", "128", "--model", "gpt2", "--gpus", "64,1024", "--modes", "ddp")
        self.assertGreater(points["ddp", 1024, 4, 1]["rows_per_second"], 10 * points["ddp", 64, 4, 1]["rows_per_second"])
        self.assertGreater(points["ddp", 1024, 4, 1]["step_ms"], points["ddp", 64, 4, 1]["step_ms"])

    def test_wrong_command_lines(self):
        sweep = ["cluster", "sweep", "--cluster", "t4x4"]
        self.fail_with(2, "cluster", "sweep", says=["--cluster"])
        self.fail_with(2, *sweep, "--gpus", "2,8", says=["--gpus has 8, and t4x4 has 4 GPUs", "--nodes"])
        self.fail_with(2, *sweep, "--gpus", "0", says=["--gpus"])
        self.fail_with(2, *sweep, "--bandwidths", "0", says=["--bandwidths"])
        self.fail_with(2, *sweep, "--modes", "dpp", says=["--modes"])
        self.fail_with(2, *sweep, "--batch", "8", says=["--rows-per-gpu"])
        self.fail_with(2, *sweep, "--devices", "cpu:2", says=["--devices", "--gpus"])
        self.fail_with(2, *sweep, "--gather-outputs", says=["--gather-outputs"])
        self.fail_with(2, *sweep, "--nodes", "2", says=["--nodes", "nics"])
        self.fail_with(2, "cluster", "sweep", "--cluster", "a100-80x8-8-nodes", "--nodes", "16", "--gpus", "128", "--modes", "dp-server",
                       says=["at most 127", "--gpus is 128", "ddp"])


if __name__ == "__main__":
    main()
