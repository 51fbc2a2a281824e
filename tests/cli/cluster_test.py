# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem cluster: machines that are not there, from descriptions and measured times."""

import json
import math
import os

from program import MODES, ProgramTest, main

HEAD = "bytes,out_of_place_ns,in_place_ns\n"


def ring_us(gpus, nbytes):
    """A ring of A100 with 20 us for a call, 3 for each GPU, and 240 GB/s on the bus."""
    return 20 + 3 * (gpus - 1) + nbytes * 2 * (gpus - 1) / gpus / 240e3


class ClusterTest(ProgramTest):
    def table(self, name, times):
        with open(self.file(name), "w", encoding="utf-8") as file:
            file.write(HEAD + "".join(f"{nbytes},{us * 1000:.0f},{us * 1000:.0f}\n" for nbytes, us in times))
        return name

    def ring_table(self, gpus):
        sizes = [i * 2**19 for i in range(1, 129)]
        return self.table(f"ring_n{gpus}.csv", [(nbytes, ring_us(gpus, nbytes)) for nbytes in sizes])

    def test_list_names_each_machine_once(self):
        names = [line.split()[0] for line in self.succeed("cluster", "list").stdout.splitlines()]
        self.assertEqual(names, sorted(set(names)))
        for name in ("v100-16x8", "a100-80x8", "h100x8", "b200x8", "rtx3090x2-no-bridge", "titan-rtx-x2", "rtx4090x8", "t4x4", "l4x8"):
            self.assertIn(name, names)
        rows = json.loads(self.succeed("cluster", "list", "--json").stdout)["clusters"]
        self.assertEqual([row["name"] for row in rows], names)
        self.assertEqual({row["name"]: row["gpus_per_node"] for row in rows}["t4x4"], 4)

    def test_show_has_figures_and_paths(self):
        text = self.succeed("cluster", "show", "v100-16x8").stdout
        self.assertIn("16 GiB, of which 0.45 GiB are reserved; 900 GB/s", text)
        self.assertRegex(text, r"(?m)^GPU 0 +- +NV 22.5 +NV 22.5 +NV 45 +NV 45 +host 8 +host 8 +host 8$")
        self.assertIn("PCIe 12", self.succeed("cluster", "show", "t4x4").stdout)

    def test_what_show_writes_is_a_description(self):
        self.succeed("cluster", "show", "a100-80x8", "--json", "mine.json")
        with open(self.file("mine.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["gpus"]["memory_bandwidth"], "2039 GB/s")
        self.assertEqual(self.succeed("cluster", "check", "mine.json").stdout, "a100-80x8 is possible: 8 GPUs\n")
        self.assertEqual(self.succeed("cluster", "show", "mine.json").stdout, self.succeed("cluster", "show", "a100-80x8").stdout)

    def test_check_names_the_wrong_field_and_figures_without_source(self):
        machine = json.loads(self.succeed("cluster", "show", "l4x8", "--json").stdout)
        del machine["sources"]["host"]
        self.write(machine)
        self.assertIn("host.latency has no source\n", self.succeed("cluster", "check", "mine.json").stdout)
        report = json.loads(self.succeed("cluster", "check", "mine.json", "--json").stdout)
        self.assertEqual(report["figures_without_source"], ["host.bandwidth", "host.total_bandwidth", "host.latency"])
        machine["gpus"]["memory_bandwidth"] = "-5 GB/s"
        self.write(machine)
        self.fail_with(1, "cluster", "check", "mine.json", says=["mine.json", "gpus.memory_bandwidth: -5 GB/s; it must be positive"])
        self.fail_with(1, "cluster", "show", "mine.json", says=["gpus.memory_bandwidth"])

    def test_a_step_in_f64_needs_the_peak_of_f64(self):
        machine = json.loads(self.succeed("cluster", "show", "a100-80x8", "--json").stdout)
        machine["gpus"]["peak"]["f64"] = None
        self.write(machine)
        step = ["cluster", "simulate", "--cluster", "mine.json", "--gpus", "2", "--model", "gpt2", "--mode", "ddp", "--batch", "2", "--context", "64"]
        self.succeed(*step)
        self.fail_with(1, *step, "--dtype", "f64", says=["f64", "a100-80x8 has no gpus.peak.f64", "or compute in f32"])

    def write(self, machine):
        with open(self.file("mine.json"), "w", encoding="utf-8") as file:
            json.dump(machine, file)

    def test_wrong_command_lines_of_cluster(self):
        self.fail_with(2, "cluster", says=["subcommand is required", "tandem cluster --help"])
        self.fail_with(2, "cluster", "draw", says=["unknown command 'draw'", "tandem cluster --help"])
        self.fail_with(2, "cluster", "sho", "t4x4", says=["did you mean show?", "tandem cluster --help"])
        self.fail_with(2, "cluster", "show", says=["NAME is required", "tandem cluster show --help"])
        self.fail_with(2, "cluster", "check", says=["FILE is required", "tandem cluster check --help"])
        self.fail_with(2, "cluster", "list", "t4x4", says=["'t4x4' belongs to no option", "tandem cluster list --help"])
        self.fail_with(2, "cluster", "sweep", "--mode", "ddp", says=["'--mode'; did you mean --modes or --model?"])
        self.fail_with(2, "cluster", "show", "t5x4", says=["'t5x4'", "t4x4"])
        self.fail_with(1, "cluster", "check", "t4x4", says=["t4x4"])  # a preset is no file

    def test_calibrate_describes_this_machine(self):
        done = self.succeed("cluster", "calibrate", "--host", "--devices", "cpu:2", "--output", "host.json")
        self.assertRegex(done.stdout, r"^\S+-cpu2: 2 virtual devices on \d+ cores of \S+\n$")
        self.assertIn("measuring all-reduces\n", done.stderr)
        with open(self.file("host.json"), encoding="utf-8") as file:
            host = json.load(file)
        self.assertEqual((host["gpus"]["kind"], host["gpus"]["count"], host["nodes"]), ("host", 2, 1))
        # Others may be too short to be timed.
        self.assertLessEqual({"attention_grad", "conv2d_weight_grad"}, set(host["gpus"]["ops"]))
        self.assertIn("tandem cluster calibrate --host", host["sources"]["gpus"])
        self.assertEqual(self.succeed("cluster", "check", "host.json").stdout, f"{host['name']} is possible: 2 GPUs\n")
        text = self.succeed("explain", "--cluster", "host.json", "--gpus", "2", "--model", "mlp", "--batch", "16", "--mode", "ddp").stdout
        self.assertIn(f"simulated on 2 GPUs of {host['name']}", text)

    def test_calibrate_of_this_machine_takes_no_other_and_no_tables(self):
        out = ["--output", "host.json"]
        self.fail_with(2, "cluster", "calibrate", "--host", "--cluster", "t4x4", *out, says=["--host describes this machine anew", "leave one of them out"])
        table = self.ring_table(2)
        self.fail_with(2, "cluster", "calibrate", "--host", "--allreduce", table, *out, says=["--host measures what it needs", "with --cluster"])
        self.fail_with(2, "cluster", "calibrate", "--devices", "cpu:2", "--cluster", "t4x4", "--allreduce", table, *out, says=["give --host too"])
        self.fail_with(2, "cluster", "calibrate", *out, says=["there is no machine", "--host"])
        self.assertFalse(os.path.exists(self.file("host.json")))

    def test_calibrate_finds_what_tables_were_made_of(self):
        for gpus in (2, 8):
            self.ring_table(gpus)
        text = self.succeed("cluster", "calibrate", "--cluster", "a100-80x8", "--allreduce", "ring_n*.csv", "--output", "mine.json").stdout
        self.assertRegex(text, r"(?m)^collectives.ring.alpha0 +(20|19.99\d*|20.00\d*) us   0 us to 1000 us$")
        self.assertRegex(text, r"(?m)^ +8 +0.0\d% +")
        with open(self.file("mine.json"), encoding="utf-8") as file:
            mine = json.load(file)
        self.assertAlmostEqual(mine["collectives"]["ring"]["efficiency"], 0.8, places=3)
        self.assertIn("ring_n2.csv, ring_n8.csv", mine["sources"]["collectives.ring"])
        report = json.loads(self.succeed("cluster", "simulate", "--cluster", "mine.json", "--allreduce", self.ring_table(5), "--json").stdout)
        self.assertLess(report["mape"], 0.1)

    def test_calibrate_says_what_it_could_not_choose(self):
        text = self.succeed("cluster", "calibrate", "--cluster", "a100-80x8", "--allreduce", self.ring_table(4), "--output", "mine.json").stdout
        self.assertRegex(text, r"collectives.ring.alpha1 .*held")
        fast = self.table("fast_n2.csv", [(i * 2**20, i * 2**20 / 310e3) for i in range(1, 9)])
        out = self.succeed("cluster", "calibrate", "--cluster", "a100-80x8", "--allreduce", fast, "--output", "mine.json", "--json").stdout
        places = {one["path"]: one["place"] for one in json.loads(out)["constants"]}
        self.assertEqual(places["collectives.ring.efficiency"], "at_upper")
        self.assertEqual(places["collectives.ring.alpha0"], "at_lower")

    def test_calibrate_says_which_gpus_have_no_ring(self):
        calibrate = ["cluster", "calibrate", "--cluster", "v100-16x8", "--output", "mine.json", "--allreduce"]
        said = self.succeed(*calibrate, self.ring_table(5)).stdout
        self.assertIn("The NVLinks of GPUs 0 to 4 make no ring, but a chain over one link.", said)
        self.assertIn("no constants meet ring_n5.csv; calibrate without it", said)
        self.assertNotIn("no ring", self.succeed(*calibrate, self.ring_table(4)).stdout)

    def test_simulate_has_rows_and_errors(self):
        times = [(2**20, 50.0), (3 * 2**20, 70.0), (2**30, 8000.0)]
        table = self.table("some_n8.csv", times)
        report = json.loads(self.succeed("cluster", "simulate", "--cluster", "a100-80x8", "--allreduce", table, "--json").stdout)
        self.assertEqual([(row["bytes"], round(row["measured_us"], 6)) for row in report["rows"]], times)
        errors = [abs(row["predicted_us"] / row["measured_us"] - 1) * 100 for row in report["rows"]]
        self.assertAlmostEqual(report["mape"], sum(errors) / 3)
        self.assertAlmostEqual(report["mape_powers_of_two"], (errors[0] + errors[2]) / 2)
        rates = [nbytes * 1.75 / us / 1000 for nbytes, us in times]
        bus = sum(rate**2 for rate in rates) / sum(rates)
        self.assertAlmostEqual(report["null_model"]["busbw_GBps"], bus)
        self.assertAlmostEqual(report["null_model"]["mape"], sum(abs(rate / bus - 1) for rate in rates) / 3 * 100)
        text = self.succeed("cluster", "simulate", "--cluster", "a100-80x8", "--allreduce", table).stdout
        self.assertIn("simulated", text)
        self.assertIn(f"mean error of all 3 rows: {report['mape']:.2f} %", text)
        self.assertIn("null model", text)
        self.assertTrue(math.isfinite(report["mape"]))

    def test_simulate_takes_a_step_on_gpus_that_are_not_there(self):
        def step(*flags):
            done = self.succeed("cluster", "simulate", "--model", "gpt2", "--batch", "8", *flags, "--json")
            return json.loads(done.stdout)

        for mode in MODES:
            machine = ["--cluster", "a100-80x8", "--gpus", "4", "--mode", mode]
            report = step(*machine)
            self.assertTrue(report["simulated"])
            self.assertEqual(len(report["gpus"]), 1 if mode == "single" else 4)
            self.assertEqual(step(*machine)["step_ms"], report["step_ms"], "it depends on the arguments alone")
            for gpu in report["gpus"]:
                self.assertGreater(gpu["work_ms"], 0)
                self.assertLessEqual(gpu["work_ms"], report["step_ms"])
            self.assertTrue(report["explanation"]["complete"])
        ddp = step("--cluster", "titan-rtx-x2", "--mode", "ddp")
        self.assertGreater(step("--cluster", "titan-rtx-x2-no-nvlink", "--mode", "ddp")["step_ms"], ddp["step_ms"])
        self.assertGreater(step("--cluster", "titan-rtx-x2", "--mode", "dp-classic")["step_ms"], ddp["step_ms"])
        text = self.succeed("cluster", "simulate", "--cluster", "t4x4", "--model", "gpt2", "--batch", "8").stdout
        self.assertIn("gpt2, mode dp-sharded, 8 rows, f32\n(simulated on 4 GPUs of t4x4; its error is not known)\n", text)

    def test_a_thousand_gpus_are_two_and_others_like_them(self):
        machine = json.loads(self.succeed("cluster", "show", "a100-80x8-8-nodes", "--json").stdout)
        machine["nodes"] = 128
        self.write(machine)
        flags = ["cluster", "simulate", "--cluster", "mine.json", "--model", "gpt2", "--mode", "ddp", "--gpus", "1024"]
        report = json.loads(self.succeed(*flags, "--batch", "4096", "--json").stdout)
        self.assertEqual([report["gpu_count"], report["rows"], len(report["gpus"])], [1024, 4096, 2])
        self.assertIn("1022 more that do the same", self.succeed(*flags, "--batch", "4096").stdout)
        few = json.loads(self.succeed(*flags[:-1], "8", "--batch", "32", "--json").stdout)
        self.assertGreater(report["step_ms"], few["step_ms"])
        self.fail_with(2, *flags, "--batch", "1000", says=["--batch is 1000 on 1024 GPUs"])

    def test_a_step_that_does_not_fit_or_has_too_many_gpus(self):
        self.fail_with(1, "cluster", "simulate", "--cluster", "t4x4", "--model", "gpt2-xl", "--mode", "ddp", "--batch", "8",
                       says=["out of memory", "cpu:1"])
        self.fail_with(2, "cluster", "simulate", "--cluster", "t4x4", "--gpus", "5", says=["--gpus is 5, and t4x4 has 4 GPUs"])

    def test_bad_tables(self):
        def simulate(*says, table="bad_n2.csv", code=1, flags=()):
            self.fail_with(code, "cluster", "simulate", "--cluster", "t4x4", "--allreduce", table, *flags, says=says)

        for content, says in (("", "is empty"), (HEAD, "no row"), ("bytes,us\n1,2\n", "the columns are"),
                              (HEAD + "1,-2,3\n", "must be positive"), (HEAD + "1,2 us,3\n", "not three numbers")):
            with open(self.file("bad_n2.csv"), "w", encoding="utf-8") as file:
                file.write(content)
            simulate("bad_n2.csv", says)
        simulate("no_n2.csv", table="no_n2.csv")
        simulate("from 1 to the 4 of t4x4", table=self.ring_table(8), code=2)
        os.rename(self.file("ring_n8.csv"), self.file("ring.csv"))
        simulate("does not say how many GPUs", table="ring.csv")
        self.succeed("cluster", "simulate", "--cluster", "a100-80x8", "--allreduce", "ring.csv", "--gpus", "8")
        simulate("at least 2", table="ring.csv", flags=["--gpus", "1"])
        short = self.table("short_n2.csv", [(2**30, 5.0)])
        simulate("are they in nanoseconds?", table=short, code=2)

    def test_wrong_command_lines_of_calibrate_and_simulate(self):
        self.fail_with(2, "cluster", "calibrate", "--cluster", "t4x4", "--output", "x", says=["--allreduce"])
        self.fail_with(2, "cluster", "calibrate", "--cluster", "t4x4", "--allreduce", "no*.csv", "--output", "x", says=["no file 'no*.csv'"])
        table = self.ring_table(2)
        self.fail_with(2, "cluster", "calibrate", "--allreduce", table, "--output", "x", says=["--cluster"])
        self.fail_with(2, "cluster", "calibrate", "--cluster", "t5", "--allreduce", table, "--output", "x", says=["'t5'", "t4x4"])
        self.fail_with(2, "cluster", "calibrate", "--cluster", "t4x4", "--allreduce", table, "--output", "-", "--json", says=["--output", "--json"])
        self.fail_with(1, "cluster", "calibrate", "--cluster", "t4x4", "--allreduce", table, "--output", "no/x.json", says=["no/x.json"])
        self.fail_with(2, "cluster", "simulate", "--cluster", "t4x4", "--devices", "cpu:2", says=["--devices", "give --gpus"])
        self.assertFalse(os.path.exists(self.file("x")))


if __name__ == "__main__":
    main()
