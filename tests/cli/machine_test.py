# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""--cluster: the commands on a machine that is not there. Memory is that of its GPUs, and time is simulated."""

import json

from program import DIGITS, MODES, TRAINING, ProgramTest, main

GPT2 = ["--model", "gpt2", "--data", "text", "--batch", "8"]


class MachineTest(ProgramTest):
    def json(self, *arguments, **extra):
        return json.loads(self.succeed(*arguments, "--json", **extra).stdout)

    def known_error(self, name):
        return self.json("cluster", "show", name)["known_error"]

    def test_explain_tells_simulated_time(self):
        arguments = ["explain", "--cluster", "titan-rtx-x2", "--model", "gpt2", "--batch", "8", "--mode", "ddp"]
        step = self.json(*arguments)
        self.assertEqual(step["simulated"]["cluster"], "titan-rtx-x2")
        self.assertEqual(step["simulated"]["gpus"], 2)
        self.assertEqual(step, self.json(*arguments))  # to the nanosecond
        # 3.5 TFLOP on each GPU, of 16.3 TFLOP/s at best.
        self.assertGreater(step["ms"], 3.5 / 16.3 * 1e3)
        self.assertLess(step["ms"], 1e3)
        self.assertIn("(simulated on 2 GPUs of titan-rtx-x2; ", self.succeed(*arguments).stdout)
        self.assertIsNone(self.json("explain", "--devices", "cpu:2", "--mode", "ddp")["simulated"])

    def test_what_a_gpu_does_adds_up_to_the_step(self):
        for mode in MODES:
            step = self.json("cluster", "simulate", "--cluster", "titan-rtx-x2", "--model", "gpt2", "--batch", "4", "--mode", mode)
            for gpu in step["gpus"]:
                parts = [gpu[part] for part in ("work_ms", "exposed_ms", "copies_ms", "idle_ms")]
                self.assertAlmostEqual(sum(parts), step["step_ms"], places=4, msg=mode)
                self.assertGreaterEqual(min(parts), 0, mode)

    def test_shares_are_gathered_beside_the_work(self):
        def step_ms(mode, *more):
            return self.json("cluster", "simulate", "--cluster", "a100-80x8", "--model", "gpt2-xl", "--batch", "8", "--mode", mode, *more)["step_ms"]
        sharded = step_ms("dp-fully-sharded")
        self.assertLess(sharded, 1.05 * step_ms("ddp"))
        self.assertLessEqual(step_ms("dp-fully-sharded", "--prefetch", "1"), sharded)

    def test_a_known_error_is_that_of_the_step(self):
        def said(*arguments):
            return self.json("cluster", "simulate", "--cluster", "rtx3090x2", *arguments)["known_error"]
        self.assertEqual(said("--model", "gpt2", "--batch", "4", "--mode", "ddp"), self.known_error("rtx3090x2"))
        for other in (["--model", "mlp"], ["--model", "gpt2", "--batch", "4", "--dtype", "bf16"], ["--model", "gpt", "--mode", "ddp"]):
            self.assertIsNone(said(*other))
            self.assertIn("not compared with measured steps: its error is not known", self.succeed("cluster", "simulate", "--cluster", "rtx3090x2", *other).stdout)
        mine = self.json("cluster", "show", "rtx3090x2")
        mine["gpus"]["efficiency"]["matmul"] = 0.9
        with open(self.file("mine.json"), "w", encoding="utf-8") as file:
            json.dump(mine, file)
        self.assertIsNone(self.json("cluster", "simulate", "--cluster", "mine.json", "--model", "gpt2", "--batch", "4", "--mode", "ddp")["known_error"])

    def test_the_environment_names_the_machine(self):
        arguments = ["explain", "--mode", "ddp"]
        seen = self.json(*arguments, TANDEM_CLUSTER="t4x4")
        self.assertEqual(seen, self.json(*arguments, "--cluster", "t4x4"))
        self.assertIsNone(self.json(*arguments, "--devices", "cpu:2", TANDEM_CLUSTER="t4x4")["simulated"])

    def test_a_trace_is_of_simulated_time(self):
        text = self.succeed("explain", "--trace", "trace.json", "--cluster", "a100-80x8", "--gpus", "2", *GPT2, "--mode", "ddp", "--steps", "1").stdout
        self.assertIn("Its times are simulated on 2 GPUs of a100-80x8", text)
        with open(self.file("trace.json"), encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        names = [e["args"]["name"] for e in events if e["name"] == "process_name"]
        self.assertEqual(len([n for n in names if "simulated on 2 GPUs" in n]), len(names) - 1)  # links are no device
        for name in [n for n in names if n != "links"]:
            self.assertIn(self.known_error("a100-80x8"), name)
        longest = max(e["ts"] + e["dur"] for e in events if e["ph"] == "X")
        counters = [e["ts"] for e in events if e["ph"] == "C"]
        self.assertGreater(max(counters), longest / 2 - 1e3)  # memory is told in the same time
        self.assertLessEqual(max(counters), longest)

    def test_memory_and_largest_batch_have_the_gpus_memory(self):
        memory = self.json("memory", "--cluster", "titan-rtx-x2", *GPT2, "--mode", "ddp", "--steps", "2")
        self.assertTrue(memory["shape_only"])
        self.assertEqual(memory["cluster"]["cluster"], "titan-rtx-x2")
        found = self.json("largest-batch", "--cluster", "t4x4", "--gpus", "2", "--model", "gpt2", "--data", "text", "--mode", "ddp")
        self.assertEqual(len(found["devices"]), 2)
        for device in found["devices"]:
            self.assertLess(device["peak_bytes"], device["limit_bytes"])
            self.assertGreater(device["limit_bytes"], 15 * 2**30)
        self.assertEqual(self.run_program("memory", "--cluster", "t4x4", "--model", "gpt2-xl", "--data", "text", "--mode", "ddp").returncode, 1)

    def test_training_learns_and_its_time_is_simulated(self):
        arguments = ["train", *DIGITS, "--model", "mlp", "--mode", "ddp", "--epochs", "1", "--seed", "3", "--quiet"]
        here = self.json(*arguments, "--devices", "cpu:2")
        there = self.json(*arguments, "--cluster", "v100-16x8", "--gpus", "2")
        again = self.json(*arguments, "--cluster", "v100-16x8", "--gpus", "2")
        self.assertIsNone(here["cluster"])
        self.assertEqual(there["cluster"]["cluster"], "v100-16x8")
        for key in ("loss", "test_loss", "test_accuracy"):
            self.assertEqual(there["epochs"][0][key], here["epochs"][0][key])
        self.assertEqual(there["step_ms"], again["step_ms"])
        self.assertEqual(there["epochs"], again["epochs"])
        text = self.succeed(*arguments, "--cluster", "v100-16x8", "--gpus", "2").stdout
        self.assertIn("times: simulated on 2 GPUs of v100-16x8", text)

    def test_modes_are_compared_there(self):
        compared = ["compare", *DIGITS, "--cluster", "rtx4090x8", "--gpus", "2", "--steps", "2", "--modes", "ddp,dp-classic"]
        report = self.json(*compared)
        self.assertIn("simulated on 2 GPUs of rtx4090x8", report["simulated"])
        self.assertLess(report["modes"][1]["max_relative_difference"], 1e-6)
        again = self.json(*compared)
        self.assertEqual([m["step_ms"] for m in report["modes"]], [m["step_ms"] for m in again["modes"]])

    def test_models_that_are_too_large_to_compute_are_compared(self):
        compared = ["--cluster", "titan-rtx-x2", "--shape-only", *GPT2, "--steps", "1"]
        report = self.json("compare", *compared)
        times = {m["mode"]: m["step_ms"]["p50"] for m in report["modes"]}
        self.assertEqual(list(times), MODES)
        self.assertGreater(times["dp-classic"], times["ddp"])
        self.assertEqual({m["max_relative_difference"] for m in report["modes"]}, {None})
        self.assertIn("weights: none, since nothing was computed", self.succeed("compare", *compared).stdout)
        self.assertEqual(self.json("compare", *compared[2:], TANDEM_CLUSTER="titan-rtx-x2")["modes"], report["modes"])
        self.succeed("compare", *compared, "--html", "page.html")
        with open(self.file("page.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn("<strong>All times are simulated on 2 GPUs of titan-rtx-x2; ", page)
        self.assertIn(f"; known error: {self.known_error('titan-rtx-x2')}.</strong>", page)
        self.assertNotIn('id="loss"', page)

    def test_chunks_are_planned_by_peaks_alone(self):
        says = ["--chunks planned-time", "this machine's clock", "--chunks planned", "--chunk-sizes", "even"]
        trained = [[*command, "--data", "digits"] for command in [*TRAINING, ["largest-batch"]]]
        for command in (*trained, ["explain"], ["cluster", "simulate"], ["cluster", "sweep"]):
            run = [*command, "--model", "mlp", "--chunks", "planned-time"]
            self.fail_with(2, *run, "--cluster", "a100-80x8", says=says)
            self.fail_with(2, *run, says=says, TANDEM_CLUSTER="t4x4")
        planned = ["memory", "--cluster", "titan-rtx-x2", *GPT2, "--mode", "dp-server", "--chunks", "planned", "--steps", "1"]
        seen = self.json(*planned)
        self.assertEqual(seen, self.json(*planned))
        self.assertEqual([d["predicted_ms"] for d in seen["devices"]], [None, None])
        for device in seen["devices"]:
            self.assertAlmostEqual(device["predicted_peak_bytes"] / device["peak_bytes"], 1, delta=0.05)

    def test_wrong_command_lines(self):
        self.fail_with(2, "explain", "--gpus", "3", says=["--gpus are of a cluster", "--cluster"])
        self.fail_with(2, "explain", "--cluster", "t4x4", "--gpus", "5", says=["--gpus is 5, and t4x4 has 4"])
        self.fail_with(2, "train", "--cluster", "t4x4", "--devices", "cpu:2", says=["--devices", "--cluster", "give one"])
        self.fail_with(2, "compare", "--shape-only", says=["--shape-only", "give --cluster"])
        self.fail_with(2, "compare", "--shape-only", "--devices", "cpu:2", says=["--shape-only", "give --cluster"], TANDEM_CLUSTER="t4x4")
        self.fail_with(2, "memory", "--cluster", "t5", says=["'t5'", "t4x4"])
        for command in (["memory"], ["cluster", "simulate"], ["cluster", "sweep"], ["cluster", "calibrate", "--allreduce", "x_n2.csv", "--output", "x"]):
            open(self.file("x_n2.csv"), "w", encoding="utf-8").close()
            self.fail_with(2, *command, says=["TANDEM_CLUSTER: 't5'", "t4x4"], TANDEM_CLUSTER="t5")
            if command != ["memory"]:
                self.fail_with(2, *command, says=["give --cluster"], TANDEM_CLUSTER="")

    def test_a_host_is_described_whatever_the_environment_names(self):
        self.succeed("cluster", "calibrate", "--host", "--devices", "cpu:1", "--output", "host.json", TANDEM_CLUSTER="t5")
        self.fail_with(2, "cluster", "calibrate", "--host", "--cluster", "t4x4", "--output", "x", says=["--host", "--cluster names another"])

    def test_more_gpus_than_virtual_devices(self):
        machine = self.json("cluster", "show", "a100-80x8-8-nodes")
        machine.update({"name": "sixteen", "nodes": 16})
        machine.pop("schema_version")
        with open(self.file("sixteen.json"), "w", encoding="utf-8") as file:
            json.dump(machine, file)
        says = ["sixteen", "128", "at most 127", "give --gpus"]
        trained = [[*command, "--data", "digits"] for command in [*TRAINING, ["largest-batch"]]]
        for command in (*trained, ["explain"], ["collectives"]):
            for gpus in ([], ["--gpus", "128"]):
                self.fail_with(2, *command, *gpus, "--cluster", "sixteen.json", says=says)
        self.succeed("explain", "--cluster", "sixteen.json", "--gpus", "9", "--mode", "ddp")


if __name__ == "__main__":
    main()
