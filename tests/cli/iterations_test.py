# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem cluster simulate and calibrate with --iterations: tables of measured training steps."""

import json
import os

from program import ProgramTest, main

HEAD = "model,mode,gpus,batch,context,measured_ms"
MACHINE = "rtx3090x2"
MEASURED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sim", "measured")


class IterationsTest(ProgramTest):
    def table(self, *rows, head=HEAD, name="steps.csv"):
        with open(self.file(name), "w", encoding="utf-8") as file:
            file.write("\n".join([head, *rows]) + "\n")
        return name

    def simulate(self, table, *flags, cluster=MACHINE):
        return json.loads(self.succeed("cluster", "simulate", "--cluster", cluster, "--iterations", table, *flags, "--json").stdout)

    def step_ms(self, *flags, cluster=MACHINE):
        return json.loads(self.succeed("cluster", "simulate", "--cluster", cluster, *flags, "--json").stdout)["step_ms"]

    def test_each_row_is_the_step_that_simulate_would_take(self):
        table = self.table("gpt2,ddp,2,8,128,60,,", "gpt2,dp-classic,2,8,64,70,replica_and_outputs,first", "", "resnet18,single,1,32,0,9,,",
                           head=HEAD + ",loss,name")
        report = self.simulate(table)
        steps = [("--model", "gpt2", "--mode", "ddp", "--batch", "8", "--context", "128"),
                 ("--model", "gpt2", "--mode", "dp-classic", "--gather-outputs", "--batch", "8", "--context", "64"),
                 ("--model", "resnet18", "--mode", "single", "--batch", "32", "--batch-norm", "per-replica")]
        self.assertEqual([row["line"] for row in report["rows"]], [2, 3, 5])
        for row, step, measured in zip(report["rows"], steps, (60, 70, 9)):
            self.assertAlmostEqual(row["predicted_ms"], self.step_ms(*step))
            self.assertAlmostEqual(row["measured_ms"], measured)
            self.assertAlmostEqual(row["error_percent"], (row["predicted_ms"] / measured - 1) * 100)
            self.assertFalse(row["given"])
        self.assertAlmostEqual(report["mape"], sum(abs(row["error_percent"]) for row in report["rows"]) / 3)
        self.assertEqual(report["rows"][1]["name"], "first")
        self.assertTrue(report["simulated"])
        text = self.succeed("cluster", "simulate", "--cluster", MACHINE, "--iterations", table).stdout
        self.assertRegex(text, rf"(?m)^mean error of 3 rows: {report['mape']:.2f} %$")
        self.assertRegex(text, r"(?m)^ +3  gpt2 +dp-classic +2 +8 +64 +70\.0 +[\d.]+ +[+-][\d.]+%   first$")
        self.assertRegex(text, r"(?m)^null model, [\d.]+ TFLOP/s of a GPU fitted to these rows: [\d.]+ %$")

    def test_options_of_a_single_step_are_refused(self):
        table = self.table("gpt2,ddp,2,8,128,60")
        for option in (["--layers", "2"], ["--width", "64"], ["--heads", "2"], ["--recompute"], ["--accumulate", "2"], ["--model", "mlp"],
                       ["--mode", "ddp"], ["--batch", "8"], ["--dtype", "bf16"], ["--prefetch", "1"], ["--dropout", "0.5"]):
            self.fail_with(2, "cluster", "simulate", "--cluster", MACHINE, "--iterations", table, *option,
                           says=[f"{option[0]} is of a step of one model", "--iterations", "leave it out"])
        reduces = self.table("1048576,90,90", head="bytes,out_of_place_ns,in_place_ns", name="times_n2.csv")
        self.fail_with(2, "cluster", "simulate", "--cluster", MACHINE, "--allreduce", reduces, "--layers", "2",
                       says=["--layers is of a step of one model", "--allreduce", "leave it out"])

    def errors(self, pairs, *flags):
        """The errors in percent of what the checked-in tables say of two GPUs or more."""
        rows = [row for table, cluster in pairs
                for row in self.simulate(os.path.join(MEASURED, f"iterations_{table}.csv"), *flags, cluster=cluster)["rows"]]
        return [abs(row["error_percent"]) for row in rows if row["gpus"] > 1]

    def known_error(self, cluster):
        return json.loads(self.succeed("cluster", "show", cluster, "--json").stdout)["known_error"]

    def test_known_errors_are_those_of_the_measured_steps(self):
        titans = [("titan_rtx", "titan-rtx-x2"), ("titan_rtx_no_nvlink", "titan-rtx-x2-no-nvlink")]
        off = self.errors(titans)
        self.assertEqual(len(off), 3)
        for _, cluster in titans:
            self.assertEqual(self.known_error(cluster), f"{min(off):.1f} to {max(off):.1f} %")
        pairs = [("rtx3090", "rtx3090x2"), ("rtx3090_no_bridge", "rtx3090x2-no-bridge")]
        given, free = self.errors(pairs, "--given-single"), self.errors(pairs)
        self.assertEqual(len(given), 18)
        for _, cluster in pairs:
            self.assertEqual(self.known_error(cluster), f"{sum(given) / 18:.1f} % on average if the time of one GPU is given, "
                             f"{sum(free) / 18:.0f} % if not")
        dgx1 = self.simulate(os.path.join(MEASURED, "iterations_dgx1.csv"), "--given-single", cluster="v100-16x8")["rows"]
        alone = {row["model"]: row["measured_ms"] for row in dgx1 if row["gpus"] == 1}
        added = [abs((row["predicted_ms"] - alone[row["model"]]) / (row["measured_ms"] - alone[row["model"]]) - 1) for row in dgx1 if row["gpus"] > 1]
        self.assertTrue(self.known_error("v100-16x8").endswith(f", {sum(added) / 12 * 100:.0f} % for what DDP adds to a step"))

    def test_columns_change_the_step(self):
        def predicted(column, value, mode="ddp"):
            table = self.table(f"gpt2,{mode},2,8,128,60,{value}", head=f"{HEAD},{column}")
            row, = self.simulate(table)["rows"]
            return row["predicted_ms"]

        self.assertGreater(predicted("bucket_mb", 4096), predicted("bucket_mb", ""))  # nothing is hidden behind backward
        self.assertGreater(predicted("bucket_copies", "yes"), predicted("bucket_copies", "no"))
        self.assertLess(predicted("dtype", "bf16"), predicted("dtype", ""))
        self.assertLess(predicted("optimizer", "sgd"), predicted("optimizer", "adamw"))
        self.assertGreater(predicted("loss", "replica_and_outputs", "dp-classic"), predicted("loss", "replica", "dp-classic"))

    def test_given_the_time_of_one_gpu_the_others_are_predicted(self):
        table = self.table("gpt2,single,1,4,128,90", "gpt2,ddp,2,8,128,100", "gpt2,ddp,2,8,64,100")
        given = self.simulate(table, "--given-single")
        plain = self.simulate(table)
        self.assertEqual([row["given"] for row in given["rows"]], [True, False, False])
        self.assertAlmostEqual(given["rows"][0]["predicted_ms"], 90, places=4)
        gain = 90 - plain["rows"][0]["predicted_ms"]  # what kernels take longer on one GPU, and on each of two
        self.assertAlmostEqual(given["rows"][1]["predicted_ms"], plain["rows"][1]["predicted_ms"] + gain, delta=0.05 * gain)
        self.assertEqual(given["rows"][2]["predicted_ms"], plain["rows"][2]["predicted_ms"], "no row of one GPU has this context")
        self.assertAlmostEqual(given["mape"], sum(abs(row["error_percent"]) for row in given["rows"][1:]) / 2)
        named = self.table("gpt2,single,1,4,128,90,", "gpt2,ddp,2,8,128,100,f32", head=HEAD + ",dtype", name="named.csv")
        self.assertEqual(self.simulate(named, "--given-single")["rows"][1]["predicted_ms"], given["rows"][1]["predicted_ms"])
        text = self.succeed("cluster", "simulate", "--cluster", MACHINE, "--iterations", table, "--given-single").stdout
        self.assertRegex(text, r"(?m)^ +2 .* 90\.0 +90\.0 +given")
        self.assertIn("mean error of 2 rows", text)

    def test_calibrate_finds_what_a_table_was_made_of(self):
        machine = json.loads(self.succeed("cluster", "show", MACHINE, "--json").stdout)
        machine["gpus"]["efficiency"]["matmul"] = 0.42
        machine["collectives"]["ring"]["efficiency"] = 0.61
        with open(self.file("made.json"), "w", encoding="utf-8") as file:
            json.dump(machine, file)
        steps = [("single", 1, 4, 128), ("ddp", 2, 8, 128), ("dp-server", 2, 8, 64)]
        rows = [f"gpt2,{mode},{gpus},{batch},{context},"
                f"{self.step_ms('--model', 'gpt2', '--mode', mode, '--batch', str(batch), '--context', str(context), cluster='made.json')}"
                for mode, gpus, batch, context in steps]
        table = self.table(*rows)
        text = self.succeed("cluster", "calibrate", "--cluster", MACHINE, "--iterations", table, "--output", "fitted.json").stdout
        self.assertRegex(text, r"(?m)^gpus.efficiency.matmul +0\.4[12]\d* +0.05 to 1$")
        with open(self.file("fitted.json"), encoding="utf-8") as file:
            fitted = json.load(file)
        self.assertAlmostEqual(fitted["gpus"]["efficiency"]["matmul"], 0.42, places=3)
        self.assertAlmostEqual(fitted["collectives"]["ring"]["efficiency"], 0.61, places=3)
        self.assertEqual(fitted["sources"]["gpus.efficiency.matmul"], "tandem cluster calibrate --iterations steps.csv")
        self.assertEqual(fitted["sources"]["collectives.ring.efficiency"], "tandem cluster calibrate --iterations steps.csv")
        self.assertLess(self.simulate(table, cluster="fitted.json")["mape"], 0.05)

    def test_calibrate_with_both_tables_leaves_rings_to_the_all_reduces(self):
        with open(self.file("ring_n2.csv"), "w", encoding="utf-8") as file:
            file.write("bytes,out_of_place_ns,in_place_ns\n" +
                       "".join(f"{i << 20},{i * 2**20 / 30 + 20e3:.0f},{i * 2**20 / 30 + 20e3:.0f}\n" for i in range(1, 65)))
        table = self.table("gpt2,single,1,4,128,60", "gpt2,ddp,2,8,128,90")
        out = self.succeed("cluster", "calibrate", "--cluster", MACHINE, "--allreduce", "ring_n2.csv", "--iterations", table, "--output", "x.json", "--json").stdout
        report = json.loads(out)
        paths = [constant["path"] for constant in report["constants"]]
        self.assertEqual(paths.count("collectives.ring.efficiency"), 1)
        self.assertIn("gpus.efficiency.matmul", paths)
        with open(self.file("x.json"), encoding="utf-8") as file:
            fitted = json.load(file)
        self.assertAlmostEqual(fitted["collectives"]["ring"]["efficiency"], 30 / 56.25, places=3)
        self.assertEqual(len(report["iterations"]["rows"]), 2)
        self.assertEqual(report["tables"][0]["gpus"], 2)

    def test_bad_tables(self):
        def refused(says, *rows, head=HEAD, code=1, flags=(), cluster=MACHINE):
            table = self.table(*rows, head=head)
            self.fail_with(code, "cluster", "simulate", "--cluster", cluster, "--iterations", table, *flags, says=says)
            if not flags:
                self.fail_with(code, "cluster", "calibrate", "--cluster", cluster, "--iterations", table, "--output", "no.json", says=says)

        good = "gpt2,ddp,2,8,128,60"
        refused(["steps.csv", "no row"])
        refused(["line 1", '"measured_s"'], good, head=HEAD.replace("_ms", "_s"))
        refused(["line 1", "column measured_ms is missing"], "gpt2,ddp,2,8,128", head="model,mode,gpus,batch,context")
        refused(["tandem: steps.csv: line 3, column measured_ms", "60 ms"], good, good + " ms")
        refused(["steps.csv, line 2, column model", "'gpt3'", "gpt2-xl"], good.replace("gpt2", "gpt3"))
        refused(["line 3, column mode", "'dp'", "dp-classic"], good, good.replace("ddp", "dp"))
        refused(["line 2, column gpus", "3; rtx3090x2 has 2"], "gpt2,ddp,3,9,128,60")
        refused(["line 2, column gpus", "mode single"], "gpt2,single,2,8,128,60")
        refused(["line 2, column context", "reads a text"], "gpt2,ddp,2,8,0,60")
        refused(["line 2, column context", "reads images"], "resnet18,ddp,2,8,128,60")
        refused(["line 2", "--context 2000", "1024 positions"], "gpt2,ddp,2,8,2000,60")
        refused(["line 2, column loss", "'there'", "replica_and_outputs"], good + ",there", head=HEAD + ",loss")
        refused(["line 2, column dtype", "'f8'", "bf16"], good + ",f8", head=HEAD + ",dtype")
        refused(["line 2, column optimizer", "'lion'", "adamw"], good + ",lion", head=HEAD + ",optimizer")
        refused(["line 2", "mode ddp has no device where outputs are gathered"], good + ",replica_and_outputs", head=HEAD + ",loss")
        refused(["line 2", "out of memory"], "gpt2-xl,single,1,4,1024,60")
        refused(["in milliseconds of one step?"], "gpt2,ddp,2,8,128,0.06", code=2)
        refused(["no row is of one GPU"], good, code=2, flags=["--given-single"])
        self.assertFalse(os.path.exists(self.file("no.json")))
        self.fail_with(1, "cluster", "simulate", "--cluster", MACHINE, "--iterations", "none.csv", says=["none.csv"])

    def test_wrong_command_lines(self):
        table = self.table("gpt2,ddp,2,8,128,60")
        self.fail_with(2, "cluster", "simulate", "--cluster", MACHINE, "--given-single", says=["--given-single", "--iterations"])
        self.fail_with(2, "cluster", "simulate", "--cluster", MACHINE, "--iterations", table, "--gpus", "2", says=["--gpus", "column"])
        self.fail_with(2, "cluster", "simulate", "--cluster", MACHINE, "--iterations", table, "--allreduce", "x_n2.csv", says=["one of them"])
        self.fail_with(2, "cluster", "calibrate", "--cluster", MACHINE, "--output", "x", says=["--allreduce", "--iterations"])


if __name__ == "__main__":
    main()
