# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Training a character model, and what it writes."""

import json
import os
import subprocess
import time

from program import DEADLINE, DIGITS, ProgramTest, environment, main, path



def tiny(**changes):
    """Options of a model of about 4,000 parameters."""
    sizes = {"data": "text", "layers": 1, "width": 16, "heads": 2, "context": 16, "batch": 8, **changes}
    return [part for name, value in sizes.items() for part in ("--" + name, str(value))]


TINY = tiny()


class TextTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.checkpoint = self.file("run.safetensors")

    def train(self, *arguments, **changes):
        return json.loads(self.succeed("train", *tiny(**changes), "--quiet", "--json", "-",
                                       *arguments).stdout)

    def write(self, name, text, encoding="utf-8"):
        with open(self.file(name), "w", encoding=encoding) as out:
            out.write(text)
        return self.file(name)

    def trained(self, *arguments):
        """A checkpoint of a model that has learnt a little of a text of four characters."""
        text = self.write("text", "abc\n" * 400)
        self.train("--text", text, "--epochs", "5", "--lr", "0.02", "--dropout", "0", "--devices",
                   "cpu:1", "--checkpoint", self.checkpoint, *arguments)

    def content(self, name):
        with open(name, "rb") as file:
            return file.read()


class TrainTest(TextTest):
    def test_text_brings_gpt_with_it_and_gpt_a_text(self):
        for choice in (["--data", "text"], ["--model", "gpt"]):
            report = json.loads(self.succeed(
                "train", *choice, *TINY[2:], "--devices", "cpu:2", "--steps", "2", "--quiet",
                "--json", "-").stdout)
            self.assertEqual((report["model"], report["data"]), ("gpt", "text"))
            self.assertEqual([d["rows"] for d in report["devices"]], [4, 4])

    def test_report_has_bits_per_character(self):
        text = self.write("text", "abc\n" * 400)
        report = self.train("--text", text, "--epochs", "6", "--lr", "0.02", "--devices", "cpu:2")
        last = report["epochs"][-1]
        self.assertAlmostEqual(last["test_bits_per_character"], last["test_loss"] / 0.6931471805599453)
        self.assertGreater(last["test_perplexity"], 1)
        self.assertLess(last["test_bits_per_character"], 1)  # 2 before training
        self.assertGreater(last["test_accuracy"], 0.8)
        done = self.succeed("train", *TINY, "--text", text, "--epochs", "1")
        self.assertRegex(done.stdout, r"epoch 1: loss .*, test loss .*, \d\.\d+ bits per character")
        self.assertIn("bits per character", done.stderr)

    def test_micro_batches_and_recomputation_change_nothing_but_memory(self):
        run = ["--dtype", "f64", "--steps", "6", "--devices", "cpu:2", "--seed", "4"]
        large = {"layers": 3, "context": 64, "batch": 32}
        plain = self.train(*run, "--checkpoint", self.file("plain"), **large)
        again = self.train(*run, "--checkpoint", self.file("again"), "--recompute", **large)
        self.assertEqual(self.content(self.file("plain")), self.content(self.file("again")))
        parts = self.train(*run, "--accumulate", "4", **large)
        self.assertEqual(parts["accumulate"], 4)
        for other in (again, parts):
            for a, b in zip(other["devices"], plain["devices"]):
                self.assertLess(a["peak_bytes"], b["peak_bytes"])
        difference = self.succeed("compare", "--verify", *TINY, "--dtype", "f64", "--devices", "cpu:3",
                                  "--steps", "5", "--json", "-")
        self.assertTrue(json.loads(difference.stdout)["equal"])

    def test_bf16_keeps_parameters_in_f32(self):
        text = self.write("text", "abc\n" * 400)
        run = ["--text", text, "--epochs", "6", "--lr", "0.02", "--devices", "cpu:2", "--dropout", "0"]
        report = self.train(*run, "--dtype", "bf16", "--checkpoint", self.checkpoint)
        exact = self.train(*run)
        self.assertEqual(report["dtype"], "bf16")
        self.assertLess(report["epochs"][-1]["test_bits_per_character"], 1)
        self.assertNotEqual(report["epochs"][-1]["loss"], exact["epochs"][-1]["loss"])
        done = self.succeed("generate", "--checkpoint", self.checkpoint, "--tokens", "3", "--prompt",
                            "a", "--temperature", "0")
        self.assertEqual(done.stdout, "abc\n\n")
        self.fail_with(2, "compare", "--verify", *TINY, "--dtype", "bf16", says=["bf16", "f32 or f64"])

    def test_killed_run_goes_on_exactly_on_other_devices(self):
        run = ["--text", self.write("text", "abc\n" * 400), "--dtype", "f64", "--schedule", "cosine",
               "--warmup", "3", "--epochs", "20"]  # of 12 steps
        whole = self.train(*run, "--devices", "cpu:1")
        killed = ["train", *TINY, *run, "--devices", "cpu:3", "--checkpoint", self.checkpoint,
                  "--save-every", "5"]
        with subprocess.Popen([path(), *killed, "--quiet"], env=environment(),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            deadline = time.monotonic() + DEADLINE
            while not os.path.exists(self.checkpoint) and time.monotonic() < deadline:
                time.sleep(0.002)
            process.kill()
        done = self.succeed("train", *TINY, *run, "--devices", "cpu:2", "--checkpoint",
                            self.checkpoint, "--resume", "--json", "-")
        rest = json.loads(done.stdout)
        self.assertIn(f"at step {240 - rest['steps']}", done.stderr)
        self.assertGreater(rest["steps"], 0)
        self.assertLess(rest["steps"], 240)
        for figure in ("loss", "test_loss"):
            self.assertAlmostEqual(rest["epochs"][-1][figure], whole["epochs"][-1][figure], delta=1e-11)

    def test_options_that_do_not_go_together(self):
        cases = [
            (["--model", "gpt", "--data", "digits"], ["gpt", "digits", "--data text"]),
            (["--model", "mlp", "--data", "text"], ["mlp", "text", "--model gpt"]),
            ([*DIGITS, "--text", "x"], ["--text", "--data text"]),
            ([*DIGITS, "--recompute"], ["--recompute", "gpt", "cnn-small"]),
            ([*TINY, "--save-every", "3"], ["--save-every", "--checkpoint"]),
            ([*TINY, "--steps", "4", "--warmup", "4"], ["--warmup 4", "4 steps"]),
            ([*TINY, "--accumulate", "0"], ["--accumulate", "at least 1"]),
            ([*TINY, "--schedule", "wild"], ["--schedule", "cosine"]),
            ([*TINY, "--dropout", "1"], ["--dropout"]),
            ([*TINY, "--dropout", "nan"], ["--dropout", "'nan'"]),
            (tiny(heads=3), ["--heads 3", "--width 16"]),
            ([*TINY, "--data-dir", "x"], ["--data-dir", "--text"]),
            ([*DIGITS, "--layers", "4"], ["--layers", "gpt", "cnn-small"]),
            ([*DIGITS, "--dropout", "0.1"], ["--dropout", "gpt", "cnn-small"]),
            ([*DIGITS, "--bitwise-leaves", "4", "--model", "resnet18"], ["--bitwise-leaves", "resnet18"]),
            ([*DIGITS, "--bitwise-leaves", "4", "--accumulate", "2"], ["--bitwise-leaves", "--accumulate"]),
        ]
        for arguments, says in cases:
            with self.subTest(arguments):
                self.fail_with(2, "train", *arguments, says=says)

    def test_texts_that_cannot_be_read(self):
        run = ["train", *TINY, "--quiet", "--text"]
        self.fail_with(1, *run, self.file("nowhere"), says=[self.file("nowhere")])
        self.fail_with(1, *run, self.write("short", "abc"), says=["3 characters", "longer text"])
        self.fail_with(1, *run, self.write("latin", "caf\xe9 " * 100, "latin-1"),
                       says=["byte 3", "UTF-8", "iconv"])

    def test_resume_with_another_text_or_schedule(self):
        self.trained()
        run = ["train", *TINY, "--checkpoint", self.checkpoint, "--resume", "--quiet"]
        self.fail_with(1, *run, "--text", self.write("other", "abd\n" * 400),
                       says=[self.checkpoint, "other characters"])
        self.fail_with(1, *run, "--text", self.file("text"), "--steps", "90", "--warmup", "2",
                       says=[self.checkpoint, "schedule"])
        self.fail_with(1, "train", *tiny(layers=2), *run[len(TINY) + 1:], "--text", self.file("text"),
                       says=["layers 1", "layers 2"])


class GenerateTest(TextTest):
    def generate(self, *arguments):
        return self.succeed("generate", "--checkpoint", self.checkpoint, *arguments).stdout

    def test_writes_what_it_has_learnt(self):
        self.trained()
        text = self.generate("--prompt", "bc\n", "--tokens", "30", "--temperature", "0")
        self.assertEqual(text, "bc\n" + ("abc\n" * 8)[:30] + "\n")
        self.assertEqual(self.generate("--tokens", "4", "--temperature", "0"), "abc\n\n")

    def test_seeds_and_json(self):
        self.trained("--recompute")
        hot = ["--tokens", "80", "--temperature", "3"]
        one = self.generate(*hot, "--seed", "1")
        self.assertEqual(one, self.generate(*hot, "--seed", "1"))
        self.assertNotEqual(one, self.generate(*hot, "--seed", "2"))
        report = json.loads(self.generate(*hot, "--seed", "1", "--prompt", "a", "--json"))
        self.assertEqual((report["prompt"], len(report["text"]), report["step"]), ("a", 80, 60))
        self.assertEqual(self.generate(*hot, "--seed", "1", "--prompt", "a"), "a" + report["text"] + "\n")
        greedy = self.generate("--tokens", "20", "--temperature", "0", "--prompt", "a")
        self.assertEqual(self.generate(*hot[2:], "--tokens", "20", "--top-k", "1", "--prompt", "a"), greedy)

    def test_f64_and_no_tokens(self):
        self.trained("--dtype", "f64")
        self.assertEqual(self.generate("--prompt", "a", "--tokens", "0"), "a\n")
        self.assertEqual(self.generate("--prompt", "a", "--tokens", "2", "--temperature", "0"), "abc\n")

    def test_help(self):
        done = self.succeed("generate", "--help")
        for option in ("--checkpoint", "--prompt", "--tokens", "--temperature", "--top-k", "--seed",
                       "--json"):
            self.assertIn(option, done.stdout)

    def test_errors(self):
        self.fail_with(2, "generate", says=["--checkpoint", "generate --help"])
        self.fail_with(1, "generate", "--checkpoint", self.file("none"), says=[self.file("none")])
        self.trained()
        run = ["generate", "--checkpoint", self.checkpoint]
        self.fail_with(2, *run, "--prompt", "abx", says=["--prompt", "'x'", "4 characters"])
        self.fail_with(2, *run, "--prompt", "", says=["--prompt is empty"])
        self.fail_with(2, *run, "--temperature", "-1", says=["--temperature"])
        self.fail_with(2, *run, "--temperature", "nan", says=["--temperature", "'nan'"])
        self.fail_with(2, *run, "--seed", "-1", says=["--seed", "'-1'"])
        self.fail_with(2, *run, "--top-k", "0", says=["--top-k", "at least 1"])
        images = self.file("images.safetensors")
        self.succeed("train", *DIGITS, "--steps", "1", "--checkpoint", images, "--quiet")
        self.fail_with(1, "generate", "--checkpoint", images,
                       says=[images, "cnn-small", "not a model of text", "--data text"])


if __name__ == "__main__":
    main()
