# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""--json means the same for all commands: one object on stdout in place of the text, or in a file beside the text."""

import json
import os
import re

import flight_test
from program import DIGITS, TRAINING, ProgramTest, main

RUN = [*DIGITS, "--devices", "cpu:2", "--steps", "1"]
GPT = ["--model", "gpt", "--layers", "1", "--width", "16", "--heads", "2", "--context", "8"]


class JsonTest(ProgramTest):
    def commands(self):
        """All commands that have the flag, with options that make their work small."""
        self.succeed("train", *GPT, "--batch", "8", "--devices", "cpu:1", "--steps", "1", "--checkpoint", "gpt.safetensors")
        os.makedirs(self.file("records"), exist_ok=True)
        with open(self.file("records/0.json"), "w", encoding="utf-8") as file:
            json.dump(flight_test.record(0, []), file)
        with open(self.file("times_n2.csv"), "w", encoding="utf-8") as file:
            file.write("bytes,out_of_place_ns,in_place_ns\n1048576,150000,150000\n4194304,500000,500000\n")
        step = ["--model", "mlp", "--devices", "cpu:2", "--batch", "4"]
        return [
            ["devices", "--devices", "cpu:2"],
            ["doctor"],
            *[[*command, *RUN] for command in TRAINING],
            ["generate", "--checkpoint", "gpt.safetensors", "--tokens", "4"],
            ["explain", *step],
            ["largest-batch", *DIGITS[:2], "--devices", "cpu:2@1MiB"],
            ["cluster", "list"],
            ["cluster", "show", "t4x4"],
            ["cluster", "calibrate", "--cluster", "t4x4", "--allreduce", "times_n2.csv", "--output", "fitted.json"],
            ["cluster", "simulate", "--cluster", "t4x4", "--allreduce", "times_n2.csv"],
            ["cluster", "sweep", "--cluster", "t4x4", "--model", "mlp", "--gpus", "2", "--modes", "ddp"],
            ["flight", "records"],
            ["collectives", "--devices", "cpu:2", "-e", "4K", "--iterations", "1", "--warmup", "0"],
            ["env"],
        ]

    def test_one_object_on_stdout_in_place_of_the_text(self):
        for command in self.commands():
            for flag in (["--json"], ["--json", "-"], ["--json", "/dev/stdout"]):
                with self.subTest(command=command, flag=flag):
                    report = json.loads(self.succeed(*command, *flag).stdout)
                    self.assertEqual(report["schema_version"], 1)

    def test_in_a_file_beside_the_text(self):
        for command in self.commands():
            with self.subTest(command=command):
                text = self.succeed(*command, "--json", "out.json").stdout
                self.assertNotIn("schema_version", text)
                self.assertGreater(len(text), 2)
                with open(self.file("out.json"), encoding="utf-8") as file:
                    self.assertEqual(json.load(file)["schema_version"], 1)

    def test_an_option_behind_it_is_not_its_file(self):
        report = json.loads(self.succeed("devices", "--json", "--devices", "cpu:3").stdout)
        self.assertEqual(len(report["devices"]), 3)

    def test_help_says_it_in_the_same_words(self):
        said = set()
        for command in self.commands():
            name = command[:2] if command[0] == "cluster" else command[:1]
            words = " ".join(self.succeed(*name, "--help-all").stdout.split())
            said.add(re.search(r"--json \[FILE\] .*?stdout\)", words).group())
        self.assertEqual(len(said), 1, said)

    def test_a_file_that_cannot_be_written_is_found_before_the_work(self):
        for command in self.commands():
            self.fail_with(1, *command, "--json", self.file("no/x.json"), says=["no/x.json"])


if __name__ == "__main__":
    main()
