# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What `tandem memory` says of the devices' bytes, and `tandem explain --trace` of their time."""

import json
import os

from program import DIGITS, MODES, ProgramTest, environment, main, path

PARAMETERS = 22602 * 4  # cnn-small's, in bytes of f32


class MemoryTest(ProgramTest):
    def memory(self, *arguments):
        return json.loads(self.succeed("memory", *DIGITS, "--json", "-", *arguments).stdout)

    def test_causes_add_up_to_the_peak(self):
        for mode in MODES:
            report = self.memory("--devices", "cpu:3", "--mode", mode)
            self.assertTrue(report["complete"])
            for device in report["devices"]:
                self.assertNotIn("unowned_bytes", device)  # the host's are the system's
                self.assertEqual(sum(device["peak_by_category"].values()), device["peak_bytes"])
                self.assertEqual(sum(device["in_use_by_category"].values()), device["in_use_bytes"])
                self.assertEqual(sum(o["bytes"] for o in device["peak_owners"]), device["peak_bytes"])
                for category in device["peak_by_category_and_phase"].values():
                    self.assertEqual(sum(category["by_phase"].values()), category["bytes"])

    def test_the_modes_put_their_bytes_where_they_say(self):
        def optimizer(mode):
            devices = self.memory("--devices", "cpu:2", "--mode", mode)["devices"]
            return [d["in_use_by_category"]["optimizer"] for d in devices]

        server, sharded, ddp = map(optimizer, ("dp-server", "dp-sharded", "ddp"))
        self.assertGreaterEqual(server[0], 2 * PARAMETERS)
        self.assertEqual(server[1], 0)
        self.assertEqual(sum(sharded), server[0])
        self.assertLess(max(sharded), 0.6 * server[0])
        self.assertEqual(ddp, [server[0], server[0]])

    def test_a_run_that_computes_nothing_says_the_same(self):
        for flags in ("--mode dp-server", "--mode ddp --accumulate 2 --loss-in-replica", "--output-device cpu:5",
                      "--mode dp-fully-sharded --offload cpu:7"):
            with_data = self.memory("--devices", "cpu:2", *flags.split())
            for way in (["--devices", "cpu:2", "--shape-only"], ["--devices", "cpu:2@shape-only"]):
                without = self.memory(*way, *flags.split())
                self.assertTrue(without["shape_only"])
                self.assertFalse(with_data["shape_only"])
                for a, b in zip(without["devices"], with_data["devices"]):
                    self.assertEqual(a["peak_by_category"], b["peak_by_category"], flags)
                    self.assertEqual(a["formulas"], b["formulas"], flags)

    def test_gathered_outputs_fill_the_output_device_without_being_needed(self):
        run = ["memory", "--model", "gpt2", "--context", "64", "--batch", "4", "--steps", "1", "--shape-only", "--devices", "cpu:2", "--json"]
        logits = 4 * 64 * 50257 * 4

        def gathered(*flags):
            devices = json.loads(self.succeed(*run, *flags).stdout)["devices"]
            return [device["peak_by_category"].get("output", 0) for device in devices]

        for mode in ("dp-classic", "dp-sharded"):
            self.assertEqual(gathered("--mode", mode, "--loss-in-replica"), [0, 0])
            self.assertEqual(gathered("--mode", mode, "--gather-outputs"), [logits, 0])
        self.assertEqual(gathered("--mode", "dp-classic", "--gather-outputs", "--output-device", "cpu:1"), [0, logits])
        for mode in ("ddp", "single"):
            self.fail_with(2, *run, "--mode", mode, "--gather-outputs", says=["--gather-outputs", f"mode {mode}", "dp-classic"])
        self.fail_with(2, *run, "--gather-outputs", "--no-loss-in-replica", says=["gathered for the loss already"])
        self.fail_with(2, *run, "--gather-outputs", "--accumulate", "2", says=["--accumulate", "--gather-outputs"])

    def test_samples_may_be_shorter_than_the_models_context(self):
        def parts(*flags):
            done = self.succeed("memory", "--model", "gpt2", "--mode", "single", "--batch", "2", "--steps", "1", "--shape-only", "--json", *flags)
            device, = json.loads(done.stdout)["devices"]
            return device["in_use_by_category"]["parameter"], device["peak_bytes"]

        parameters, peak = parts("--context", "128")
        self.assertEqual(parameters, 4 * 124439808)  # GPT-2's, with all 1,024 positions
        self.assertEqual(parts()[0], parameters)
        self.assertEqual(parts("--context", "1024"), parts())
        self.assertLess(peak, parts()[1])
        self.fail_with(2, "memory", "--model", "gpt2", "--context", "1025", says=["--context 1025", "1024 positions of gpt2"])

    def test_gpt2_xl_is_known_by_name(self):
        xl = ["--model", "gpt2-xl", "--batch", "2", "--steps", "1", "--loss-in-replica", "--shape-only"]
        done = self.succeed("memory", *xl, "--devices", "cpu:2", "--mode", "ddp", "--optimizer", "sgd", "--json", "-")
        for device in json.loads(done.stdout)["devices"]:
            self.assertGreaterEqual(device["in_use_by_category"]["parameter"], 4 * 1557611200)
        self.fail_with(2, "memory", *xl, "--width", "64", says=["--width", "gpt2-xl"])

    def test_formulas_give_what_was_counted(self):
        for mode in MODES:
            report = self.memory("--devices", "cpu:3", "--mode", mode, "--optimizer", "sgd")
            self.assertIn("S = ", report["formulas"])
            for device in report["devices"]:
                figures = {f["figure"]: f for f in device["formulas"]}
                self.assertEqual(len(figures), 6)
                for figure in figures.values():
                    self.assertEqual(figure["formula_bytes"], figure["counted_bytes"], figure)
                held = device["in_use_by_category"]
                self.assertEqual(figures["parameters"]["counted_bytes"], held["parameter"])
                self.assertEqual(figures["state"]["counted_bytes"], held["optimizer"])

    def test_formulas_follow_units_and_where_shares_are_kept(self):
        gpt = ["--model", "gpt", "--layers", "2", "--width", "16", "--heads", "2", "--context", "8", "--batch", "6"]
        full = ["--devices", "cpu:3", "--mode", "dp-fully-sharded"]
        reports = {}
        for flags in ("", "--units blocks.0", "--no-reshard-after-forward", "--offload cpu:7"):
            done = self.succeed("memory", *gpt, *full, *flags.split(), "--steps", "2", "--json", "-")
            reports[flags] = json.loads(done.stdout)
            for device in reports[flags]["devices"]:
                for figure in device["formulas"]:
                    self.assertEqual(figure["formula_bytes"], figure["counted_bytes"], [flags, figure])
        figures = {flags: {f["figure"]: f["counted_bytes"] for f in report["devices"][1]["formulas"]}
                   for flags, report in reports.items()}
        self.assertEqual([figures["--offload cpu:7"][k] for k in ("parameters", "gradients", "state")], [0, 0, 0])
        self.assertLess(figures["--no-reshard-after-forward"]["sent in a step"], figures[""]["sent in a step"])
        self.assertIn("in 2 units", reports["--units blocks.0"]["formulas"])
        ahead = self.succeed("memory", *gpt, *full, "--prefetch", "1", "--steps", "2", "--json", "-")
        peaks = [max(d["peak_bytes"] for d in report["devices"]) for report in (json.loads(ahead.stdout), reports[""])]
        self.assertGreater(peaks[0], peaks[1])
        self.fail_with(2, "memory", *gpt, *full, "--offload", "cpu:1", says=["--offload cpu:1 is one of --devices"])
        self.fail_with(2, "memory", *gpt, *full, "--offload", "disk", says=["--offload", "disk"])
        self.fail_with(2, "train", *DIGITS, "--mode", "ddp", "--offload", "cpu:7",
                       says=["--offload is for --mode dp-fully-sharded, and this is ddp"])
        self.fail_with(2, "train", *DIGITS, "--mode", "dp-sharded", "--prefetch", "1",
                       says=["--prefetch is for --mode dp-fully-sharded, and this is dp-sharded"])
        self.fail_with(2, "memory", *gpt, *full, "--prefetch", "-1", says=["--prefetch", "-1", "at least 0"])
        self.fail_with(2, "train", *DIGITS, "--mode", "dp-sharded", "--units", "0",
                       says=["--units is for --mode dp-sharded-gradients and dp-fully-sharded"])

    def test_formulas_are_printed_for_devices_that_are_alike(self):
        out = self.succeed("memory", *DIGITS, "--devices", "cpu:3", "--mode", "dp-server", "--steps", "1").stdout
        self.assertRegex(out, r"(?m)^bytes by formula, and as counted; n = 3, S = \d+ bytes of parameters$")
        self.assertRegex(out, r"(?m)^  state +2 S +(\d+) +\1  cpu:0$")
        self.assertRegex(out, r"(?m)^  gradients +S +(\d+) +\1  cpu:0\.\.2$")

    def test_formulas_of_steps_are_left_out_where_they_are_not_meant_for_them(self):
        for unlike in (["--chunk-sizes", "32,0,32"], ["--bitwise-leaves", "8"], ["--dtype", "bf16"]):
            report = self.memory("--devices", "cpu:3", "--mode", "dp-fully-sharded", *unlike)
            for device in report["devices"]:
                self.assertEqual([f["figure"] for f in device["formulas"]], ["parameters", "gradients", "state"])
                for figure in device["formulas"]:
                    self.assertEqual(figure["formula_bytes"], figure["counted_bytes"], figure)

    def test_imbalance_follows_the_rows(self):
        even = self.memory("--devices", "cpu:3", "--mode", "dp-server")["imbalance"]
        uneven = self.memory("--devices", "cpu:3", "--mode", "dp-server", "--gpu0-bsz", "4")["imbalance"]
        self.assertGreater(even, 1)
        self.assertLess(uneven, even)

    def test_planned_chunks_need_what_was_predicted(self):
        report = self.memory("--devices", "cpu:3", "--mode", "dp-server", "--chunks", "planned")
        for device in report["devices"]:
            self.assertAlmostEqual(device["predicted_peak_bytes"] / device["peak_bytes"], 1, delta=0.05)
        even = self.memory("--devices", "cpu:3", "--mode", "dp-server")
        self.assertNotIn("predicted_peak_bytes", even["devices"][0])
        self.assertLess(report["imbalance"], even["imbalance"])
        out = self.succeed("memory", *DIGITS, "--devices", "cpu:2", "--chunks", "planned").stdout
        self.assertRegex(out, r"(?m)^cpu:0 .* reached in \w+, planned [\d.]+ KiB$")
        self.fail_with(2, "memory", *DIGITS, "--chunks", "planned", "--gpu0-bsz", "4", "--devices", "cpu:2",
                       says=["--chunks planned", "--gpu0-bsz"])
        self.fail_with(2, "memory", *DIGITS, "--chunks", "planned", "--mode", "dp-classic", "--devices", "cpu:2",
                       says=["--chunks planned needs the loss in the replica"])

    def test_a_full_device_gets_fewer_rows(self):
        peaks = [d["peak_bytes"] for d in self.memory("--devices", "cpu:2", "--mode", "dp-server")["devices"]]
        devices = f"cpu:1@{peaks[0] - 20000},cpu:1@{2 * peaks[1]}"
        self.fail_with(1, "memory", *DIGITS, "--devices", devices, "--mode", "dp-server", says=["out of memory on cpu:0"])
        report = self.memory("--devices", devices, "--mode", "dp-server", "--on-oom", "replan")
        rows = [d["rows"] for d in report["devices"]]
        self.assertEqual(sum(rows), 64)
        self.assertLess(rows[0], 32)

    def test_the_largest_batch_within_the_limits(self):
        peaks = [d["peak_bytes"] for d in self.memory("--devices", "cpu:2", "--mode", "dp-server")["devices"]]
        limits = f"cpu:1@{2 * peaks[0]},cpu:1@{2 * peaks[1]}"
        planned = "--mode", "dp-server", "--chunks", "planned"
        near = ["--data", "digits", "--devices", limits, *planned, "--json", "-", "--batch"]
        # An estimate holds near the rows that it was made from: a smaller batch has its peak at another moment.
        most = json.loads(self.succeed("memory", *near, "128").stdout)["largest_batch"]
        self.assertGreater(most, 128)
        self.succeed("memory", *near, str(int(0.9 * most)))
        self.fail_with(1, "memory", *near, str(int(1.2 * most)), says=["the largest batch that fits has"])
        self.assertIsNone(self.memory("--devices", "cpu:2", *planned)["largest_batch"])

    def test_the_largest_batch_is_tried(self):
        run = ["--data", "digits", "--devices", "cpu:1@1MiB,cpu:1@2MiB", "--mode", "dp-server"]
        for chunks in ("even", "planned"):
            found = json.loads(self.succeed("largest-batch", *run, "--chunks", chunks, "--json", "-").stdout)
            most = found["largest_batch"]
            self.assertTrue(found["is_largest"])
            self.assertEqual(sum(d["rows"] for d in found["devices"]), most)
            for device in found["devices"]:
                self.assertLessEqual(device["peak_bytes"], device["limit_bytes"])
            sizes = ",".join(str(d["rows"]) for d in found["devices"])
            self.succeed("memory", *run, "--batch", str(most), "--chunk-sizes", sizes, "--steps", "2")
            if chunks == "even":
                self.fail_with(1, "memory", *run, "--batch", str(most + 2), "--steps", "2", says=["out of memory"])
                even = most
        self.assertGreater(most, even, "planned chunks use the larger device's memory")
        out = self.succeed("largest-batch", *run).stdout
        self.assertRegex(out, rf"the largest batch has {even} rows, {even + 1} do not fit; \d+ tries\n")
        self.assertRegex(out, r"(?m)^cpu:1 +\d+ +[\d.]+ [KM]iB +2.0 MiB$")
        self.fail_with(1, "largest-batch", "--data", "digits", "--devices", "cpu:2", says=["has no limit", "cpu:4@512MiB"])
        small = self.run_program("largest-batch", "--data", "digits", "--devices", "cpu:1@362000", "--mode", "single")
        self.assertEqual((small.returncode, "not even one row fits" in small.stdout), (1, True), small)

    def test_devices_of_unlike_size_are_both_filled(self):
        run = ["--data", "digits", "--devices", "cpu:1@1MiB,cpu:1@4MiB", "--chunks", "planned"]
        for chunks in ("planned", "planned-time"):
            found = json.loads(self.succeed("largest-batch", *run[:-1], chunks, "--json", "-").stdout)
            self.assertGreater(found["largest_batch"], 330, chunks)
            for device in found["devices"]:
                self.assertGreater(device["peak_bytes"], 0.9 * device["limit_bytes"], chunks)
        for batch in range(100, 330, 23):
            self.succeed("memory", *run, "--batch", str(batch), "--steps", "1")

    def test_the_largest_batch_refuses_what_it_cannot_honour(self):
        run = ["largest-batch", "--data", "digits", "--devices", "cpu:2@1MiB"]
        self.fail_with(2, *run, "--batch", "64", says=["--batch"])
        self.fail_with(2, *run, "--chunk-sizes", "32,32", says=["--chunk-sizes", "--gpu0-bsz"])
        self.fail_with(2, *run, "--mode", "dp-classic", "--chunks", "planned", says=["--chunks planned", "--loss-in-replica"])

    def test_the_largest_batch_has_its_loss_where_the_mode_has_it(self):
        run = ["--data", "digits", "--devices", "cpu:2@1MiB", "--mode", "dp-classic"]
        found = [json.loads(self.succeed("largest-batch", *run, *loss, "--json", "-").stdout)["largest_batch"]
                 for loss in ([], ["--no-loss-in-replica"], ["--loss-in-replica"])]
        self.assertEqual(found[0], found[1])
        self.assertLess(found[0], found[2])
        for batch, status in (found[0], 0), (found[0] + 1, 1):
            self.assertEqual(self.run_program("memory", *run, "--batch", str(batch), "--steps", "2").returncode, status, batch)

    def test_the_largest_batch_is_the_same_where_nothing_is_computed(self):
        for model in (["--data", "digits"], ["--data", "text", "--model", "gpt", "--layers", "1", "--width", "8", "--heads", "1", "--context", "8"]):
            for mode in MODES:
                def found(devices):
                    run = ["largest-batch", *model, "--mode", mode, "--devices", devices, "--json"]
                    return json.loads(self.succeed(*run).stdout)

                without = found("cpu:2@1MiB@shape-only")
                self.assertGreater(without["largest_batch"], 2, mode)
                self.assertEqual(without, found("cpu:2@1MiB"), mode)

    def test_the_search_holds_no_samples_where_nothing_is_computed(self):
        run = [path(), "largest-batch", "--cluster", "t4x4", "--model", "mlp", "--data", "digits", "--json", self.file("found.json")]
        child = os.posix_spawn(run[0], run, environment(), file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
        _, status, used = os.wait4(child, 0)
        self.assertEqual(status, 0)
        self.assertLess(used.ru_maxrss, 300 << 10, "KiB")
        with open(self.file("found.json"), encoding="utf-8") as file:
            self.assertGreater(json.load(file)["largest_batch"], 4_000_000)

    def test_chunks_planned_for_time(self):
        report = self.memory("--devices", "cpu:2", "--chunks", "planned-time")
        self.assertEqual(sum(d["rows"] for d in report["devices"]), 64)
        for device in report["devices"]:
            self.assertIn("predicted_peak_bytes", device)
            self.assertGreater(device["predicted_ms"], 0)
        self.fail_with(2, "memory", *DIGITS, "--chunks", "planned-time", "--gpu0-bsz", "4", "--devices", "cpu:2",
                       says=["--chunks planned-time", "--gpu0-bsz"])

    def test_chunks_are_not_planned_by_a_clock_where_nothing_is_computed(self):
        says = ["--chunks planned-time", "this machine's clock", "--chunks planned", "--chunk-sizes", "even"]
        trained = [["memory"], ["train"], ["explain", "--trace", "trace.json"], ["compare", "--verify"], ["largest-batch"]]
        for run in (*trained, ["explain"]):
            data = [] if run == ["explain"] else ["--data", "digits"]
            devices = "cpu:2@1MiB@shape-only"
            self.fail_with(2, *run, *data, "--devices", devices, "--chunks", "planned-time", says=says)
        self.fail_with(2, "memory", *DIGITS, "--devices", "cpu:2", "--shape-only", "--chunks", "planned-time", says=says)

    def test_text_has_a_bar_for_each_cause(self):
        out = self.succeed("memory", *DIGITS, "--devices", "cpu:2", "--steps", "2").stdout
        self.assertRegex(out, r"^cnn-small on digits, dp-sharded, batches of 64 rows, 2 steps: memory at its peak")
        self.assertRegex(out, r"(?m)^cpu:1 +32 rows +[\d.]+ KiB +reached in (forward|backward)$")
        self.assertRegex(out, r"(?m)^  activation +█+.* KiB +forward [\d.]+ KiB")
        self.assertRegex(out, r"(?m)^  largest owners: activation in forward [\d.]+ KiB, ")
        self.assertRegex(out, r"(?m)^imbalance \d\.\d\d: the peak of cpu:0 over the mean peak of the others$")

    def test_what_chunks_cannot_even_out_is_said(self):
        def text(*arguments):
            return self.succeed("memory", *DIGITS, "--model", "mlp", "--devices", "cpu:2", *arguments).stdout

        self.assertIn("the optimizer's state, which chunk sizes cannot move; --mode dp-sharded", text("--mode", "dp-server"))
        self.assertIn("gathered outputs and their gradients; --loss-in-replica", text("--mode", "dp-classic"))
        self.assertNotIn("divides it among the devices", text("--mode", "dp-sharded"))

    def test_wrong_command_lines_are_one_sentence(self):
        self.fail_with(2, "memory", "--steps", "0", says=["--steps", "at least 1"])
        self.fail_with(2, "memory", "--mode", "dp", says=["--mode", "dp-sharded"])


class TraceTest(ProgramTest):
    def test_the_file_has_the_steps_of_each_device(self):
        path = self.file("trace.json")
        out = self.succeed("explain", "--trace", path, *DIGITS, "--devices", "cpu:2", "--steps", "2").stdout
        self.assertRegex(out, r"trace\.json: \d+ pieces of work and \d+ transfers of 2 steps, .*ui\.perfetto\.dev")
        self.assertRegex(out, r"(?m)^ms per step +forward +loss +backward +update +collectives +waiting +idle$")
        self.assertRegex(out, r"(?m)^cpu:1 +([\d.]+ +){6}[\d.]+$")
        self.assertRegex(out, r"(?m)^overlap: bytes were under way for [\d.]+ ms of a step, and a device computed during \d+ %")
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        names = [e["args"]["name"] for e in events if e["name"] == "process_name"]
        self.assertEqual(names, ["cpu:0", "cpu:1", "links"])
        forwards = [e for e in events if e.get("cat") == "phase" and e["name"] == "forward"]
        self.assertGreaterEqual(len(forwards), 4)
        self.assertEqual({e["args"]["rows"] for e in forwards}, {32})

    def test_a_file_that_cannot_be_written_is_named(self):
        self.fail_with(1, "explain", *DIGITS, "--steps", "1", "--devices", "cpu:2", "--trace", "/no/such/place/trace.json",
                       says=["/no/such/place"])


if __name__ == "__main__":
    main()
