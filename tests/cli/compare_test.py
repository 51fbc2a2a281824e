# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What `tandem compare` says of the modes."""

import json

from program import DIGITS, MODES, ProgramTest, main

PARAMETERS = 22602 * 8  # cnn-small's, in bytes of f64


class CompareTest(ProgramTest):
    def compare(self, *arguments):
        return json.loads(self.succeed("compare", *DIGITS, "--json", "-", *arguments).stdout)

    def test_all_modes_give_one_devices_weights(self):
        report = self.compare("--devices", "cpu:3", "--gpu0-bsz", "10", "--dtype", "f64", "--steps", "5")
        self.assertEqual([report["schema_version"], report["steps"], report["optimizer"]], [1, 5, "sgd"])
        self.assertEqual([m["mode"] for m in report["modes"]], MODES)
        for mode in report["modes"]:
            self.assertLessEqual(mode["max_relative_difference"], 1e-12, mode["mode"])
            self.assertEqual(mode["test_accuracy"], report["modes"][0]["test_accuracy"])
            self.assertGreaterEqual(mode["step_ms"]["p90"], mode["step_ms"]["p50"])
            rows = [64] if mode["mode"] == "single" else [10, 27, 27]
            self.assertEqual([d["rows"] for d in mode["devices"]], rows)
        self.assertGreater(report["modes"][4]["max_relative_difference"], 0)  # or nothing was shared out

    def test_bytes_are_those_of_the_mode(self):
        steps = 4
        report = self.compare("--devices", "cpu:2", "--dtype", "f64", "--steps", str(steps))
        devices = {m["mode"]: m["devices"] for m in report["modes"]}
        self.assertEqual([devices["single"][0][k] for k in ("bytes_sent", "bytes_received")], [0, 0])
        for mode in MODES[1:]:
            first, second = devices[mode]
            self.assertEqual(first["bytes_sent"], second["bytes_received"], mode)
            self.assertEqual(first["bytes_received"], second["bytes_sent"], mode)
            # Gradients to device 0; in ddp, with two devices, half of them both ways, and in sharded
            # half of them and half of the parameters. In fully_sharded those are gathered for forward and
            # once more for backward, but for the last unit.
            most = 1.7 if mode == "dp-fully-sharded" else 1.1
            self.assertGreaterEqual(second["bytes_sent"], steps * PARAMETERS, mode)
            self.assertLess(second["bytes_sent"], most * steps * PARAMETERS, mode)
        # A copy of momentum on each device against a share of it.
        self.assertGreater(devices["ddp"][1]["peak_bytes"],
                           devices["dp-sharded"][1]["peak_bytes"] + PARAMETERS // 4)

    def test_details_say_why(self):
        report = self.compare("--devices", "cpu:2", "--dtype", "f64", "--steps", "2")
        modes = {m["mode"]: m for m in report["modes"]}
        for mode in report["modes"]:
            for device in mode["devices"]:
                self.assertAlmostEqual(sum(device["peak_by_category"].values()) / device["peak_bytes"], 1, delta=0.1)
                self.assertGreater(device["ms_by_phase"]["backward"], 0)
        self.assertEqual(modes["single"]["links"], [])
        to_others = {(l["source"], l["destination"]): l["bytes_by_category"] for l in modes["dp-server"]["links"]}
        self.assertGreaterEqual(to_others["cpu:0", "cpu:1"]["parameter"], PARAMETERS)
        self.assertGreaterEqual(to_others["cpu:1", "cpu:0"]["gradient"], PARAMETERS)
        self.assertGreater(modes["dp-server"]["imbalance"], modes["ddp"]["imbalance"])
        out = self.succeed("compare", *DIGITS, "--devices", "cpu:2", "--steps", "1", "--modes", "single,ddp",
                           "--details").stdout
        self.assertRegex(out, r"(?m)^peak, KiB +parameter +gradient +optimizer ")
        self.assertRegex(out, r"(?m)^ms per step +forward +loss +backward +update +collectives +waiting +idle$")
        self.assertRegex(out, r"(?m)^cpu:1 -> cpu:0 +[\d.]+")

    def test_the_table_says_equal(self):
        out = self.succeed("compare", *DIGITS, "--devices", "cpu:2", "--steps", "2", "--modes", "single,ddp",
                           "--json", self.file("report.json")).stdout
        self.assertRegex(out, r"(?m)^single +[\d.]+ +[\d.]+ +-  cpu:0 +64 ")
        self.assertRegex(out, r"(?m)^ddp +[\d.]+ +[\d.]+ +\d\.\de-\d\d  cpu:0 +32 ")
        self.assertRegex(out, r"(?m)^weights: at most .* from single's, 1e-04 is allowed in f32: equal$")
        with open(self.file("report.json"), encoding="utf-8") as report:
            self.assertEqual([m["mode"] for m in json.load(report)["modes"]], ["single", "ddp"])

    def test_a_table_says_how_the_modes_differ(self):
        modes = ["ddp", "dp-sharded", "dp-sharded-gradients", "dp-fully-sharded"]
        out = self.succeed("compare", *DIGITS, "--devices", "cpu:2", "--gpu0-bsz", "20", "--steps", "2", "--modes",
                           ",".join(modes), "--json", self.file("report.json")).stdout
        with open(self.file("report.json"), encoding="utf-8") as report:
            measured = json.load(report)["modes"]
        lines = out.split("\ngoal", 1)[1].splitlines()
        self.assertEqual([line.split()[0] for line in lines[:4]], modes)
        for aspect in ("dimension", "memory", "communication", "synchronisation", "data", "update", "use of devices"):
            at = next(i for i, line in enumerate(lines) if line.startswith(aspect))
            self.assertEqual([line[16:].split()[0] for line in lines[at:at + 4]], modes, aspect)
        of = {aspect: [line[39:] for line in lines[at:at + 4]] for aspect in ("memory", "communication", "use of devices")
              for at in [next(i for i, line in enumerate(lines) if line.startswith(aspect))]}
        for m, mode in enumerate(measured):
            peaks = sorted(d["peak_bytes"] for d in mode["devices"])
            self.assertIn(f"{peaks[1] / peaks[0]:.2f} times", of["use of devices"][m])
            self.assertTrue(of["use of devices"][m].startswith("20 to 44 rows a device"))
            most = max(d["bytes_sent"] for d in mode["devices"]) // 2
            number, unit = of["communication"][m].split(" sends ")[1].split()[:2]
            scale = {"B": 1, "KiB": 1024, "MiB": 1 << 20}[unit]
            self.assertAlmostEqual(float(number) * scale / most, 1, delta=0.01)
            number, unit = of["memory"][m].split()[:2]
            self.assertAlmostEqual(float(number) * {"B": 1, "KiB": 1024, "MiB": 1 << 20}[unit] / peaks[1], 1, delta=0.01)
        alone = self.succeed("compare", *DIGITS, "--devices", "cpu:2", "--steps", "1", "--modes", "single,ddp").stdout
        self.assertNotIn("synchronisation", alone)  # nothing to tell apart

    def test_text_and_micro_batches(self):
        report = json.loads(self.succeed(
            "compare", "--data", "text", "--layers", "1", "--width", "16", "--heads", "2", "--context", "8",
            "--batch", "12", "--accumulate", "2", "--dtype", "f64", "--steps", "3", "--devices", "cpu:2",
            "--json", "-").stdout)
        for mode in report["modes"]:
            self.assertLessEqual(mode["max_relative_difference"], 1e-12, mode["mode"])

    def test_three_epochs_end_alike(self):
        epochs = ["--steps", "69", "--devices", "cpu:3", "--chunk-sizes", "9,30,25"]
        for dtype, most in [("f64", 1e-10), ("f32", 1)]:
            modes = self.compare(*epochs, "--dtype", dtype)["modes"]
            single = modes[0]["test_accuracy"]
            self.assertGreater(single, 0.85)
            for mode in modes:
                self.assertLessEqual(mode["max_relative_difference"], most, [dtype, mode["mode"]])
                self.assertLessEqual(abs(mode["test_accuracy"] - single), 0.005, [dtype, mode["mode"]])

    def test_bitwise_leaves_leave_no_bit_of_difference(self):
        modes = self.compare("--model", "mlp", "--bitwise-leaves", "8", "--steps", "69", "--devices",
                             "cpu:3", "--chunk-sizes", "9,30,25")["modes"]
        self.assertEqual([m["mode"] for m in modes], MODES)
        self.assertEqual([m["max_relative_difference"] for m in modes], [0] * len(MODES))
        self.fail_with(2, "train", *DIGITS, "--model", "mlp", "--bitwise-leaves", "8", "--devices", "cpu:2", "--mode",
                       "dp-classic", says=["--bitwise-leaves needs the loss in the replica", "--loss-in-replica"])

    def test_planned_chunks_are_for_all_modes(self):
        report = self.compare("--devices", "cpu:2", "--chunks", "planned", "--steps", "2", "--dtype", "f64")
        self.assertEqual([m["mode"] for m in report["modes"]], MODES)
        for mode in report["modes"]:
            self.assertLessEqual(mode["max_relative_difference"], 1e-12)
            self.assertEqual(sum(d["rows"] for d in mode["devices"]), 64)

    def test_wrong_command_lines_are_one_sentence(self):
        self.fail_with(2, "compare", "--modes", "dp", says=["--modes", "dp", "dp-sharded"])
        self.fail_with(2, "compare", "--steps", "0", says=["--steps", "at least 1"])


if __name__ == "__main__":
    main()
