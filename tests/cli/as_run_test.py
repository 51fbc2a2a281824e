# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""--collectives as-run, and tandem collectives --cluster: what algorithms take on a machine that is not there."""

import json

from program import DIGITS, ProgramTest, main

GPT2 = ["--model", "gpt2", "--mode", "ddp", "--batch", "8"]
AS_RUN = ["--collectives", "as-run"]
LATENCY, BANDWIDTH = 2.7, 300e3 * 0.91  # of a100-80x8's NVLinks: us, and bytes/us of a copy


class AsRunTest(ProgramTest):
    def json(self, *arguments):
        return json.loads(self.succeed(*arguments, "--json").stdout)

    def times(self, *arguments):
        rows = self.json("collectives", *arguments)["rows"]
        return {(r["algorithm"], r["collectives"], r["bytes"]): r["time_us"] for r in rows}

    def test_algorithms_on_a_machine(self):
        times = self.times("--cluster", "a100-80x8", "-b", "1M", "-e", "64M", "-f", "64")
        for nbytes in (1 << 20, 64 << 20):
            part = nbytes / 8
            self.assertAlmostEqual(times["ring", "as-run", nbytes], 14 * (LATENCY + part / BANDWIDTH), delta=0.01)
            self.assertAlmostEqual(times["direct", "as-run", nbytes], 2 * (LATENCY + 7 * part / BANDWIDTH), delta=0.01)
            self.assertAlmostEqual(times["butterfly", "as-run", nbytes], 3 * (LATENCY + nbytes / BANDWIDTH), delta=0.01)
            self.assertIn(("ring", "library", nbytes), times)
        self.assertEqual(len(times), 2 * 11)
        self.assertNotIn(("native", "as-run", 1 << 20), times, "in one process it is direct")

    def test_what_an_algorithm_cannot_do_is_left_out(self):
        algorithms = {key[0] for key in self.times("--cluster", "a100-80x8", "--gpus", "3", "-b", "1M", "-e", "1M")}
        self.assertTrue({"ring", "direct", "halving_doubling"} <= algorithms)
        self.assertFalse({"butterfly", "hierarchical_ring", "torus_2d"} & algorithms)
        gather = self.times("--cluster", "a100-80x8", "-b", "8M", "-e", "8M", "--op", "all_gather")
        self.assertAlmostEqual(gather["direct", "as-run", 8 << 20], LATENCY + 7 * (1 << 20) / BANDWIDTH, delta=0.01)

    def test_the_table_says_that_it_is_simulated(self):
        text = self.succeed("collectives", "--cluster", "rtx4090x8", "--gpus", "2", "--algorithm", "ring", "-b", "1M", "-e", "1M").stdout
        lines = text.splitlines()
        self.assertEqual(lines[0], "all_reduce among 2 GPUs of rtx4090x8, f32: simulated, no GPU was used")
        self.assertEqual([line.split()[:3] for line in lines[3:]], [["1048576", "ring", "2"], ["1048576", "library's", "ring"]])

    def test_a_step_with_collectives_as_run(self):
        library = self.json("cluster", "simulate", "--cluster", "v100-16x8", *GPT2)
        as_run = self.json("cluster", "simulate", "--cluster", "v100-16x8", *GPT2, *AS_RUN)
        self.assertEqual((library["collectives"], as_run["collectives"]), ("library", "as-run"))
        self.assertEqual(as_run, self.json("cluster", "simulate", "--cluster", "v100-16x8", *GPT2, *AS_RUN))  # to the nanosecond
        # Of the pairs that exchange directly, 24 are of two sockets without an NVLink: in both steps the host's memory
        # carries an eighth of 498 MB for each, at 32 GB/s.
        self.assertGreater(as_run["gpus"][0]["collectives_ms"], 2 * 24 * 497.76e6 / 8 / 32e9 * 1e3)
        self.assertEqual([g["peak_bytes"] for g in library["gpus"]], [g["peak_bytes"] for g in as_run["gpus"]])
        self.assertIn("simulated on 8 GPUs of v100-16x8, collectives as run; its error is not known", self.succeed("cluster", "simulate", "--cluster", "v100-16x8", *GPT2, *AS_RUN).stdout)
        explained = self.json("explain", "--cluster", "v100-16x8", *GPT2, *AS_RUN)
        self.assertEqual(explained["simulated"]["collectives"], "as-run")
        self.assertIsNone(explained["simulated"]["known_error"])
        self.assertAlmostEqual(explained["ms"], as_run["explanation"]["ms"], places=3)

    def test_a_sweep_and_training(self):
        sweep = ["cluster", "sweep", "--cluster", "a100-80x8", "--model", "gpt2", "--gpus", "2", "--modes", "ddp", "--rows-per-gpu", "4"]
        point = self.json(*sweep, *AS_RUN)["points"][0]
        step = self.json("cluster", "simulate", "--cluster", "a100-80x8", "--gpus", "2", *GPT2, *AS_RUN)
        self.assertEqual(point["step_ms"], step["step_ms"])
        self.assertIn("simulated, collectives as run: ", self.succeed(*sweep, *AS_RUN).stdout)
        train = ["train", *DIGITS, "--model", "mlp", "--mode", "ddp", "--epochs", "1", "--seed", "3", "--quiet", "--cluster", "v100-16x8"]
        library, as_run = self.json(*train), self.json(*train, *AS_RUN)
        self.assertEqual(as_run["cluster"]["collectives"], "as-run")
        self.assertEqual(as_run["epochs"][0]["loss"], library["epochs"][0]["loss"])
        self.assertNotEqual(as_run["step_ms"], library["step_ms"])

    def test_devices_of_a_host_have_no_links(self):
        machine = self.json("cluster", "show", "t4x4")
        machine["gpus"].update(kind="host", products={"m": 0, "n": 0, "k": 0})
        with open(self.file("host.json"), "w", encoding="utf-8") as file:
            json.dump(machine, file)
        step = ["--cluster", "host.json", "--gpus", "2", "--model", "mlp", "--mode", "ddp"]
        self.assertEqual(self.json("cluster", "simulate", *step)["collectives"], "library")
        for command in (["cluster", "simulate"], ["explain"]):
            self.fail_with(2, *command, *step, *AS_RUN, says=["--collectives as-run", "t4x4 are of kind host", "leave it out"])
        self.fail_with(2, "cluster", "sweep", *step[:2], "--gpus", "2", "--model", "mlp", "--modes", "ddp", *AS_RUN, says=["kind host", "leave it out"])
        self.fail_with(2, "collectives", *step[:4], says=["t4x4 are of kind host", "--devices cpu:N"])

    def test_wrong_command_lines(self):
        self.fail_with(2, "explain", *AS_RUN, says=["--collectives", "--cluster"])
        self.fail_with(2, "cluster", "simulate", "--cluster", "t4x4", "--collectives", "ring", says=["--collectives", "library", "as-run"])
        self.fail_with(2, "cluster", "simulate", "--cluster", "t4x4", "--allreduce", "times_n4.csv", *AS_RUN, says=["--collectives as-run", "leave it out"])
        self.fail_with(2, "cluster", "sweep", "--cluster", "a100-80x8-8-nodes", "--nodes", "16", "--gpus", "128", "--model", "gpt2", "--modes", "ddp", *AS_RUN,
                       says=["at most 127", "--gpus is 128", "library"])
        self.fail_with(2, "collectives", "--gpus", "2", says=["--gpus are of a cluster", "--cluster"])
        self.fail_with(2, "collectives", "--cluster", "t4x4", "--gpus", "5", says=["--gpus is 5, and t4x4 has 4"])
        self.fail_with(2, "collectives", "--cluster", "t4x4", "--devices", "cpu:2", says=["--devices", "--cluster", "give one"])
        self.fail_with(2, "collectives", "--cluster", "a100-80x8", "--gpus", "3", "--algorithm", "butterfly",
                       says=["butterfly", "not 3", "halving_doubling"])
        self.fail_with(2, "collectives", "--cluster", "t4x4", "--op", "all_gather", "--algorithm", "ring", says=["ring has no all_gather", "direct"])


if __name__ == "__main__":
    main()
