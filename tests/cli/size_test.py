# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Sizes that no machine has the memory for: they are refused with figures before anything is made."""

import json
import struct

from program import DIGITS, TRAINING, ProgramTest, main

GPT = ["--model", "gpt", "--devices", "cpu:2", "--layers", "1", "--heads", "2", "--width", "16", "--context", "8"]
FIGURES = ["needs at least", " of memory, but only ", "is free"]


def with_size(option, value):
    """GPT's options with another value for one."""
    options = list(GPT)
    options[options.index(option) + 1] = value
    return options


class SizeTest(ProgramTest):
    def test_models_that_do_not_fit(self):
        for command in (*TRAINING, ["explain"]):
            self.fail_with(1, *command, *with_size("--layers", "2147483648"), says=["gpt of 2147483648 layers", *FIGURES])
        for value in ("100000000000", "4611686018427387904"):
            self.fail_with(1, "train", *with_size("--width", value), says=["width " + value, *FIGURES])
        self.fail_with(1, "explain", *with_size("--context", "1000000000000"), says=["context 1000000000000", *FIGURES])

    def test_batches_that_do_not_fit(self):
        self.fail_with(1, "explain", *GPT, "--batch", "2305843009213693952", says=["batches of 2305843009213693952", *FIGURES])
        self.fail_with(1, "explain", "--model", "mlp", "--devices", "cpu:2", "--batch", "2305843009213693952",
                       says=["--batch 2305843009213693952", *FIGURES])
        self.succeed("compare", "--verify", "--model", "mlp", *DIGITS[:2], "--devices", "cpu:1", "--batch", "1000000000", "--steps", "1")

    def test_limits_above_what_the_machine_has(self):
        self.fail_with(1, "largest-batch", *DIGITS[:2], "--devices", "cpu:2@4194304TiB", says=["limits of --devices", *FIGURES])

    def test_collectives_that_do_not_fit(self):
        self.fail_with(1, "collectives", "--devices", "cpu:2", "-e", "1TiB", says=["--max-bytes 1TiB on 2 ranks", *FIGURES])
        self.fail_with(1, "collectives", "--devices", "cpu:2", "--algorithm", "segmented_ring", "--segment", "1", "-b", "4GiB",
                       "-e", "4GiB", says=["--max-bytes 4GiB", *FIGURES])

    def test_a_checkpoint_whose_sizes_are_not_its_tensors(self):
        checkpoint = self.file("run.st")
        self.succeed("train", *GPT, "--batch", "2", "--steps", "1", "--checkpoint", checkpoint, "--quiet")
        with open(checkpoint, "rb") as file:
            size, = struct.unpack("<Q", file.read(8))
            header, tensors = json.loads(file.read(size)), file.read()
        for name, value in (("layers", 100000), ("context", 1 << 58), ("width", 1 << 62), ("vocabulary", 1 << 40)):
            run = json.loads(header["__metadata__"]["run"])
            run["sizes"][name] = value
            text = json.dumps({**header, "__metadata__": {**header["__metadata__"], "run": json.dumps(run)}}).encode()
            text += b" " * (-len(text) % 8)
            with open(self.file("hostile.st"), "wb") as file:
                file.write(struct.pack("<Q", len(text)) + text + tensors)
            self.fail_with(1, "generate", "--checkpoint", "hostile.st", says=["hostile.st", "its sizes ask for", str(value)])


if __name__ == "__main__":
    main()
