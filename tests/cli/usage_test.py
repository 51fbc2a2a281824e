# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Exit codes, help, and error texts for a wrong command line."""

import json

from program import DIGITS, MODES, ProgramTest, main


class UsageTest(ProgramTest):
    def refuse(self, *arguments, says, **extra):
        """Asserts that the program refuses a command line at once, with exit status 2 and nothing but one sentence."""
        done = self.fail_with(2, *arguments, says=says, **extra)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertLess(len(done.stderr), 300)

    def test_help_is_a_result(self):
        done = self.succeed("--help")
        for command in ("devices", "train", "compare"):
            self.assertIn(command, done.stdout)
        self.assertEqual(done.stderr, "")

    def test_help_of_a_command_has_its_options_and_their_defaults(self):
        done = self.succeed("train", "--help-all")
        self.assertEqual(done.stderr, "")
        for option in ("--model", "--data", "--data-dir", "--devices", "--batch", "--gpu0-bsz",
                       "--chunk-sizes", "--epochs", "--steps", "--optimizer", "--lr", "--dtype",
                       "--seed", "--checkpoint", "--resume", "--json", "--quiet"):
            self.assertIn(option, done.stdout)
        self.assertIn("cpu:N is N virtual devices", " ".join(done.stdout.split()))
        self.assertIn("cnn-small", done.stdout)

    def test_version(self):
        self.assertRegex(self.succeed("--version").stdout, r"^tandem \d+\.\d+\.\d+\n$")

    def test_no_or_unknown_command(self):
        self.refuse(says=["subcommand is required", "tandem --help"])
        self.refuse("fly", says=["unknown command 'fly'", "tandem --help"])
        self.refuse("trian", says=["unknown command 'trian'", "did you mean train?"])
        self.refuse("gen", "--prompt", "a", says=["did you mean generate?"])

    def test_an_empty_value_is_no_way_to_leave_an_option_out(self):
        for option in ("--checkpoint", "--json", "--metrics", "--tensorboard", "--devices", "--data-dir", "--text",
                       "--seed", "--output-device"):
            self.refuse("train", *DIGITS, option, "", says=[option + " is empty"])
            self.refuse("train", *DIGITS, option + "=", "--quiet", says=[option + " is empty"])
        self.refuse("explain", *DIGITS, "--trace", "", says=["--trace is empty"])
        self.refuse("collectives", "-b", "", says=["-b is empty"])

    def test_flags(self):
        for flag in ("--loss-in-replica", "--quiet", "--recompute"):
            self.refuse("train", *DIGITS, flag + "=maybe", says=[flag[2:], "flag override"])
        self.refuse("train", *DIGITS, "--loss-in-replica", "--no-loss-in-replica",
                    says=["--loss-in-replica", "--no-loss-in-replica", "one of them"])

    def test_seeds(self):
        for seed in ("-1", "1.5", "18446744073709551616", "99999999999999999999999999", "0x10"):
            self.refuse("train", *DIGITS, "--seed", seed, says=["--seed", f"'{seed}'", "18446744073709551615"])

    def test_words_of_others_stay_on_their_line(self):
        done = self.fail_with(2, "train", "--data", "a\nb\x1b[2J\x07\u009b", says=["a\\x0ab\\x1b[2J\\x07\\u009b"])
        self.assertEqual(len(done.stderr.splitlines()), 1)
        done = self.fail_with(2, "train", "--data", "x" * 100_000, says=["left out", "train --help"])
        self.assertLess(len(done.stderr), 2500)

    def test_a_wrong_folder_of_data_sets_is_not_passed_over(self):
        self.fail_with(1, "train", *DIGITS, TANDEM_DATA_DIR="/no/such", says=["/no/such", "TANDEM_DATA_DIR"])

    def test_unknown_option_is_named(self):
        self.refuse("train", "--bogus", says=["--bogus", "tandem train --help"])
        self.refuse("compare", "--verify", "--epochs", "2", says=["--epochs", "tandem compare --help"])
        self.refuse("train", "--bach", "5", says=["unknown option '--bach'; did you mean --batch? See tandem train --help"])
        self.refuse("train", "--chunk=3", says=["'--chunk'; did you mean --chunks or --chunk-sizes?"])
        self.refuse("train", "--modle", "mlp", says=["'--modle'; did you mean --mode or --model?"])
        self.refuse("generate", "--chekpoint", "x", says=["'--chekpoint'; did you mean --checkpoint?"])
        self.refuse("devices", "--batch", "5", says=["unknown option '--batch'; see tandem devices --help"])
        self.refuse("train", "digits", says=["'digits' belongs to no option", "tandem train --help"])
        self.refuse("--devises", says=["unknown option '--devises'; see tandem --help"])
        self.refuse("--quiet", "train", says=["unknown option '--quiet'; see tandem --help"])

    def test_numbers_out_of_range(self):
        self.refuse("train", "--batch", "0", says=["--batch", "at least 1", "'0'"])
        self.refuse("train", "--batch", "ten", says=["--batch", "at least 1", "'ten'"])
        self.refuse("train", "--epochs", "-1", says=["--epochs", "at least 1", "'-1'"])
        self.refuse("train", "--steps", "1.5", says=["--steps", "at least 1", "'1.5'"])
        self.refuse("train", "--gpu0-bsz=-4", says=["--gpu0-bsz", "at least 0", "'-4'"])
        self.refuse("train", "--lr", "0", says=["--lr", "above 0", "'0'"])
        self.refuse("train", "--lr", "nan", says=["--lr", "above 0", "'nan'"])
        self.refuse("train", "--seed", "x", says=["--seed"])

    def test_a_mode_in_either_spelling(self):
        run = [*DIGITS, "--model", "mlp", "--devices", "cpu:2", "--steps", "1", "--json"]
        for mode in MODES:
            for spelling in {mode, mode.removeprefix("dp-"), mode.replace("-", "_"), mode.removeprefix("dp-").replace("-", "_")}:
                self.assertEqual(json.loads(self.succeed("train", *run, "--mode", spelling).stdout)["mode"], mode)
        compared = json.loads(self.succeed("compare", *run, "--modes", "single,classic,sharded_gradients").stdout)
        self.assertEqual([mode["mode"] for mode in compared["modes"]], ["single", "dp-classic", "dp-sharded-gradients"])
        swept = json.loads(self.succeed("cluster", "sweep", "--cluster", "t4x4", "--model", "mlp", "--gpus", "2", "--modes", "server", "--json").stdout)
        self.assertIn("dp-server", json.dumps(swept))
        self.refuse("train", "--mode", "dp-ddp", says=["--mode", "dp-ddp", *MODES])

    def test_names_that_there_are_none_of(self):
        self.refuse("train", "--model", "vgg", says=["--model", "vgg", "cnn-small", "mlp"])
        self.refuse("train", "--data", "cifar", says=["--data", "cifar", "fashion-mnist", "digits"])
        self.refuse("train", "--optimizer", "lion", says=["--optimizer", "adamw", "sgd"])
        self.refuse("train", "--dtype", "f8", says=["--dtype", "f32", "f64"])

    def test_wrong_device_lists(self):
        for command in (["train"], ["compare", "--verify"], ["devices"]):
            self.refuse(*command, "--devices", "cpu:0", says=["--devices", "'cpu:0'", "cpu:4"])
        self.refuse("train", "--devices", "gpu:1", says=["--devices", "gpu", "cpu", "cuda"])
        self.refuse("train", "--devices", "cpu:2@5XB", says=["--devices", "5XB", "512MiB"])
        self.refuse("train", "--devices", "cpu:", says=["--devices", "cpu:4"])
        self.refuse("devices", TANDEM_DEVICES="gpu:3", says=["TANDEM_DEVICES", "gpu:3"])

    def test_chunk_sizes_that_do_not_fit(self):
        run = ["train", *DIGITS, "--devices", "cpu:2"]
        self.refuse(*run, "--chunk-sizes", "10,20", says=["--chunk-sizes", "30", "--batch", "64"])
        self.refuse(*run, "--chunk-sizes", "10,20,34", says=["--chunk-sizes", "3 sizes", "2 devices"])
        self.refuse(*run, "--chunk-sizes", "32,,32", says=["--chunk-sizes", "''"])
        self.refuse(*run, "--chunk-sizes", "32,32,", says=["--chunk-sizes", "''"])
        self.refuse("train", *DIGITS, "--devices", "cpu:3", "--chunk-sizes",
                    "9223372036854775807,9223372036854775807,66", says=["--chunk-sizes", "--batch is 64"])
        self.refuse(*run, "--chunk-sizes", "10,a", says=["--chunk-sizes", "'a'"])
        self.refuse(*run, "--chunk-sizes", "10,54", "--gpu0-bsz", "4",
                    says=["--gpu0-bsz", "--chunk-sizes", "one of them"])

    def test_modes_that_do_not_fit(self):
        run = ["train", *DIGITS, "--devices", "cpu:2"]
        self.refuse(*run, "--mode", "ddpp", says=["--mode", "ddpp", "dp-sharded"])
        self.refuse(*run, "--mode", "single", "--gpu0-bsz", "4", says=["--mode single", "--gpu0-bsz"])
        self.refuse(*run, "--mode", "dp-classic", "--accumulate", "2",
                    says=["--accumulate", "--loss-in-replica"])
        self.refuse(*run, "--backend", "nccl", says=["--backend nccl: cpu:0 is not a GPU; use local"])
        self.refuse(*run, "--output-device", "gpu:1", says=["--output-device", "gpu"])

    def test_resume_without_checkpoint(self):
        self.refuse("train", "--resume", says=["--resume", "--checkpoint"])

    def test_devices_as_table_and_json(self):
        lines = self.succeed("devices", "--devices", "cpu:2@64MiB").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines[:3]], ["device", "cpu:0", "cpu:1"])
        self.assertIn("64.0 MiB", lines[1])
        self.assertIn("kernels for", lines[3])
        report = json.loads(self.succeed("devices", "--json", "--devices", "cpu:2@64MiB").stdout)
        self.assertEqual(report["schema_version"], 1)
        self.assertGreaterEqual(report["cores"], 1)
        self.assertEqual([d["name"] for d in report["devices"]], ["cpu:0", "cpu:1"])
        for device in report["devices"]:
            self.assertEqual(device["limit_bytes"], 64 << 20)
            self.assertEqual(device["type"], "cpu")
        report = json.loads(self.succeed("devices", "--json", TANDEM_DEVICES="cpu:3").stdout)
        self.assertEqual(len(report["devices"]), 3)
        self.assertIsNone(report["devices"][0]["limit_bytes"])

    def test_capability_of_the_processor(self):
        whole = json.loads(self.succeed("devices", "--json").stdout)["processor"]
        least = json.loads(self.succeed("devices", "--json", TANDEM_CPU_CAPABILITY="default").stdout)["processor"]
        self.assertEqual(least["capability"], "default")
        if whole["kernels"].startswith("x86-64-v"):  # the program has some to choose from
            self.assertEqual(least["kernels"], "x86-64-v2")
            if whole["capability"] != "default":
                self.assertGreater(whole["kernels"], "x86-64-v2")
        self.refuse("devices", says=["TANDEM_CPU_CAPABILITY 'avx3'", "avx2", "unset it"], TANDEM_CPU_CAPABILITY="avx3")


if __name__ == "__main__":
    main()
