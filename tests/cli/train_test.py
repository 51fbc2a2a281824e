# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What train and verify print and write."""

import json
import pathlib

from program import DIGITS, MODES, TRAINING, ProgramTest, main


class TrainTest(ProgramTest):
    def check_report(self, report, devices, rows, epochs):
        self.assertEqual(report["schema_version"], 1)
        self.assertEqual(report["mode"], "dp-sharded")
        self.assertEqual(report["model"], "cnn-small")
        self.assertEqual([d["name"] for d in report["devices"]], devices)
        self.assertEqual([d["rows"] for d in report["devices"]], rows)
        for device in report["devices"]:
            self.assertGreater(device["peak_bytes"], 22602 * 4)  # at least the parameters
        self.assertEqual([e["epoch"] for e in report["epochs"]], epochs)
        for epoch in report["epochs"]:
            self.assertGreater(epoch["loss"], 0)
            self.assertTrue(0 <= epoch["test_accuracy"] <= 1, epoch)
            self.assertGreater(epoch["seconds"], 0)
        self.assertGreater(report["step_ms"]["p50"], 0)
        self.assertGreaterEqual(report["step_ms"]["p90"], report["step_ms"]["p50"])

    def test_json_on_stdout_is_all_that_is_there(self):
        done = self.succeed("train", *DIGITS, "--devices", "cpu:3", "--gpu0-bsz", "10", "--epochs",
                            "2", "--seed", "7", "--json", "-")
        report = json.loads(done.stdout)
        self.check_report(report, ["cpu:0", "cpu:1", "cpu:2"], [10, 27, 27], [1, 2])
        self.assertEqual(report["data"], "digits")
        self.assertEqual(report["seed"], 7)
        self.assertEqual(report["steps"], 46)  # 1437 rows in batches of 64, twice
        self.assertIn("CnnSmall: 22,602 parameters", done.stderr)
        self.assertIn("epoch 2/2 done", done.stderr)

    def test_json_to_a_file_leaves_the_table_on_stdout(self):
        done = self.succeed("train", *DIGITS, "--devices", "cpu:2", "--chunk-sizes", "20,44",
                            "--epochs", "1", "--json", self.file("report.json"))
        with open(self.file("report.json"), encoding="utf-8") as report:
            self.check_report(json.load(report), ["cpu:0", "cpu:1"], [20, 44], [1])
        self.assertRegex(done.stdout, r"(?m)^epoch 1: loss \d+\.\d+, test accuracy 0\.\d+")
        self.assertRegex(done.stdout, r"(?m)^cpu:1 +44 +\d")
        self.assertNotIn("{", done.stdout)

    def test_single_is_the_first_device_and_outputs_go_where_asked(self):
        run = ["train", *DIGITS, "--devices", "cpu:3", "--steps", "1", "--json", "-"]
        report = json.loads(self.succeed(*run, "--mode", "single").stdout)
        self.assertEqual([d["name"] for d in report["devices"]], ["cpu:0"])
        self.assertEqual(report["mode"], "single")
        report = json.loads(self.succeed(*run, "--mode", "dp-classic", "--output-device", "cpu:2").stdout)
        self.assertEqual(report["mode"], "dp-classic")

    def test_resnet18_reads_the_files_of_cifar10(self):
        for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
            with open(self.file(name), "wb") as out:
                out.truncate(10_000 * 3073)  # black images of class 0
        done = self.succeed("train", "--model", "resnet18", "--data", "cifar10", "--data-dir",
                            self.directory, "--devices", "cpu:2", "--batch", "4", "--steps", "1",
                            "--json", "-")
        report = json.loads(done.stdout)
        self.assertEqual([report["model"], report["data"]], ["resnet18", "cifar10"])
        self.assertEqual([d["rows"] for d in report["devices"]], [2, 2])
        self.assertIn("11,173,962 parameters", done.stderr)  # torchvision's, with the stem of 3 x 3

    def test_resnet18_recomputes_for_less_memory_and_the_same_weights(self):
        run = ["train", "--model", "resnet18", "--data", "digits", "--devices", "cpu:1", "--batch", "512",
               "--optimizer", "sgd", "--steps", "1", "--json", "-", "--quiet"]
        plain, again = (json.loads(self.succeed(*run, "--checkpoint", self.file(name), *more).stdout)
                        for name, more in (("plain", []), ("again", ["--recompute"])))
        contents = [pathlib.Path(self.file(name)).read_bytes() for name in ("plain", "again")]
        self.assertEqual(*contents)
        peak = [report["devices"][0]["peak_bytes"] for report in (plain, again)]
        self.assertLess(peak[1], peak[0] * 3 / 4)

    def test_steps_end_a_run_within_an_epoch(self):
        report = json.loads(self.succeed("train", *DIGITS, "--devices", "cpu:2", "--steps", "3",
                                         "--json", "-").stdout)
        self.check_report(report, ["cpu:0", "cpu:1"], [32, 32], [])
        self.assertEqual(report["steps"], 3)

    def test_steps_that_fill_an_epoch_measure_it(self):
        report = json.loads(self.succeed("train", *DIGITS, "--devices", "cpu:2", "--steps", "23",
                                         "--json", "-").stdout)
        self.check_report(report, ["cpu:0", "cpu:1"], [32, 32], [1])
        self.assertEqual(report["steps"], 23)

    def test_quiet_says_nothing_beside_the_results(self):
        done = self.succeed("train", *DIGITS, "--devices", "cpu:2", "--epochs", "1", "--quiet")
        self.assertEqual(done.stderr, "")
        self.assertIn("test accuracy", done.stdout)

    def test_devices_from_the_environment(self):
        report = json.loads(self.succeed("train", *DIGITS, "--steps", "1", "--json", "-",
                                         TANDEM_DEVICES="cpu:3").stdout)
        self.assertEqual([d["rows"] for d in report["devices"]], [22, 21, 21])

    def test_equal_seeds_give_equal_runs(self):
        losses = []
        for seed in ("3", "3", "4"):
            report = json.loads(self.succeed("train", *DIGITS, "--devices", "cpu:2", "--epochs",
                                             "1", "--seed", seed, "--json", "-").stdout)
            losses.append(report["epochs"][0]["loss"])
        self.assertEqual(losses[0], losses[1])
        self.assertNotEqual(losses[0], losses[2])

    def test_digits_are_learnt(self):
        report = json.loads(self.succeed("train", "--data", "digits", "--batch", "32", "--devices",
                                         "cpu:2", "--epochs", "8", "--quiet", "--json", "-").stdout)
        # 0.911 where it was written; 0.906 to 0.925 in the epochs around it
        self.assertGreater(report["epochs"][-1]["test_accuracy"], 0.88)
        self.assertLess(report["epochs"][-1]["loss"], 0.1)

    def test_digits_which_come_with_tandem_are_the_default(self):
        run = ["train", "--devices", "cpu:2", "--steps", "2", "--batch", "16", "--json", "-"]
        report = json.loads(self.succeed(*run).stdout)
        self.assertEqual((report["data"], report["steps"]), ("digits", 2))
        report = json.loads(self.succeed(*run, "--model", "gpt", "--width", "8", "--context", "8").stdout)
        self.assertEqual(report["data"], "text")


class RowsTest(ProgramTest):
    """The reported rows are the rows that ran."""

    LARGE = ["--data", "digits", "--batch", "100000", "--devices", "cpu:2", "--steps", "2"]
    RAN = [719, 718]  # of the training set's 1437

    def json_of(self, command, *arguments):
        return json.loads(self.succeed(command, *self.LARGE, "--json", *arguments).stdout)

    def test_a_batch_has_no_more_rows_than_the_training_set(self):
        for command in ("train", "memory"):
            report = self.json_of(command)
            self.assertEqual((report["batch"], [d["rows"] for d in report["devices"]]), (1437, self.RAN), command)
        report = self.json_of("compare", "--modes", "ddp,dp-server")
        self.assertEqual(report["batch"], 1437)
        for mode in report["modes"]:
            self.assertEqual([d["rows"] for d in mode["devices"]], self.RAN, mode["mode"])
        out = self.succeed("compare", *self.LARGE, "--modes", "ddp").stdout
        self.assertIn("batches of 1437 rows", out.splitlines()[0])

    def test_that_it_has_fewer_is_said_once(self):
        for command in TRAINING:
            said = self.succeed(*command, *self.LARGE).stderr
            self.assertEqual(said.count("--batch 100000: the training set has only 1437 rows"), 1, said)
        self.assertEqual(self.succeed("train", *self.LARGE, "--quiet").stderr, "")
        self.assertNotIn("training set", self.succeed("train", *DIGITS, "--steps", "1").stderr)

    def test_devices_without_rows_are_named_once(self):
        def said(*arguments):
            return self.succeed(*arguments, "--data", "digits", "--steps", "2").stderr

        for command in TRAINING:
            text = said(*command, "--devices", "cpu:3", "--batch", "2")
            self.assertEqual(text.count("cpu:2 gets no rows of a batch of 2; give a larger --batch, or fewer devices"), 1, text)
        self.assertIn("cpu:0, cpu:2 get no rows of a batch of 64; --chunk-sizes leaves these devices out",
                      said("train", "--devices", "cpu:3", "--batch", "64", "--chunk-sizes", "0,64,0"))
        self.assertIn("cpu:0 gets no rows of a batch of 64; --gpu0-bsz leaves this device out",
                      said("compare", "--devices", "cpu:2", "--batch", "64", "--gpu0-bsz", "0"))
        self.assertNotIn("no rows", said("compare", "--devices", "cpu:3", "--batch", "2", "--modes", "single"))
        self.assertNotIn("no rows", said("train", "--devices", "cpu:2", "--batch", "2"))


class VerifyTest(ProgramTest):
    def verify(self, *arguments):
        done = self.succeed("compare", "--verify", *DIGITS, "--devices", "cpu:3", "--gpu0-bsz", "10", "--json",
                            "-", *arguments)
        return json.loads(done.stdout)

    def test_f64_on_three_devices_is_the_result_of_one(self):
        report = self.verify("--dtype", "f64")
        self.assertTrue(report["equal"])
        self.assertLessEqual(report["relative_difference"], 1e-12)
        # Sums in another order: exactly zero would mean that one device did all the work.
        self.assertGreater(report["relative_difference"], 0)
        self.assertEqual(report["steps"], 20)
        self.assertEqual(report["devices"], 3)

    def test_f32(self):
        report = self.verify("--steps", "5")
        self.assertTrue(report["equal"])
        self.assertLessEqual(report["relative_difference"], 1e-4)

    def test_all_modes_give_one_devices_weights(self):
        for mode in MODES[1:]:
            for place in ("--loss-in-replica", "--no-loss-in-replica"):
                report = self.verify("--dtype", "f64", "--steps", "4", "--mode", mode, place)
                self.assertLessEqual(report["relative_difference"], 1e-12, (mode, place))

    def test_text(self):
        done = self.succeed("compare", "--verify", *DIGITS, "--devices", "cpu:2", "--dtype", "f64", "--steps",
                            "2", "--quiet")
        self.assertRegex(done.stdout, r"after 2 steps in f64, 2 devices against one: .*: equal\n$")
        self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    main()
