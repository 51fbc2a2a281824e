# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Files, devices and runs that go wrong: exit 1, one sentence, nothing lost."""

import gzip
import os
import struct
import unittest

from program import DIGITS, TRAINING, ProgramTest, main

FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte",
         "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def idx(shape, data):
    """An IDX file of unsigned bytes."""
    return struct.pack(f">BBBB{len(shape)}I", 0, 0, 8, len(shape), *shape) + bytes(data)


class DataTest(ProgramTest):
    def train(self, *arguments):
        return ["train", "--devices", "cpu:1", "--quiet", *DIGITS, *arguments]

    def write_digits(self, rows=8, label=0, name=None, content=None):
        """A data set of `rows` blank images, with one file's content chosen by the test."""
        images, labels = idx((rows, 8, 8), [0] * 64 * rows), idx((rows,), [label] * rows)
        for file in FILES:
            own = content if file == name else images if "images" in file else labels
            with open(self.file(file), "wb") as out:
                out.write(own)

    def test_missing_data_set_names_path_and_remedy(self):
        nowhere = self.file("nowhere")
        self.fail_with(1, "train", "--data", "fashion-mnist", "--data-dir", nowhere,
                       says=[nowhere, "dataset-fashion-mnist", "TANDEM_DATA_DIR"])
        self.fail_with(1, *self.train("--data-dir", nowhere), says=[nowhere, "examples/data/digits"])
        self.fail_with(1, "train", "--model", "resnet18", "--data", "cifar10", "--data-dir", nowhere,
                       says=[os.path.join(nowhere, "data_batch_1.bin")])

    def test_one_file_of_the_set_is_missing(self):
        self.write_digits()
        os.remove(self.file(FILES[1]))
        self.fail_with(1, *self.train("--data-dir", self.directory),
                       says=[self.file(FILES[1]), "no such file"])

    def test_files_of_another_format(self):
        cases = {
            "text": b"this is no IDX file, for sure",
            "empty": b"",
            "cut off": idx((8, 8, 8), [0] * 100),
            "hostile size": idx((0x7fffffff, 0x7fffffff, 0x7fffffff), []),
            "broken gzip": gzip.compress(bytes(100))[:20],
        }
        for what, content in cases.items():
            with self.subTest(what):
                self.write_digits(name=FILES[0], content=content)
                self.fail_with(1, *self.train("--data-dir", self.directory),
                               says=[self.file(FILES[0])])

    def test_images_and_labels_that_do_not_match(self):
        self.write_digits(name=FILES[1], content=idx((7,), [0] * 7))
        self.fail_with(1, *self.train("--data-dir", self.directory), says=["8", "7"])

    def test_sets_without_samples(self):
        for train, test, says in ((0, 8, "training"), (8, 0, "test")):
            for prefix, rows in (("train", train), ("t10k", test)):
                for kind, content in (("images-idx3", idx((rows, 8, 8), [0] * 64 * rows)), ("labels-idx1", idx((rows,), [0] * rows))):
                    with open(self.file(f"{prefix}-{kind}-ubyte"), "wb") as file:
                        file.write(content)
            for command in TRAINING:
                done = self.fail_with(1, *command, *self.train("--data-dir", self.directory)[1:], says=["no samples"])
                self.assertEqual(len(done.stderr.splitlines()), 1)
            self.fail_with(1, "largest-batch", *DIGITS[:2], "--devices", "cpu:1@9MiB", "--data-dir", self.directory,
                           says=["no samples"])

    def test_test_images_of_another_size(self):
        self.write_digits()
        self.write_digits_as("t10k-images-idx3-ubyte", idx((8, 4, 4), [0] * 128))
        done = self.fail_with(1, *self.train("--data-dir", self.directory), says=["1, 4, 4", "1, 8, 8"])
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def write_digits_as(self, name, content):
        with open(self.file(name), "wb") as file:
            file.write(content)


class RunTest(ProgramTest):
    @unittest.skipIf(os.environ.get("PROGRAM_HAS_CUDA") == "1", "built with CUDA")
    def test_cuda_devices_in_a_build_without_cuda(self):
        for device in ("cuda:0", "cuda:0x4@20GiB"):
            self.fail_with(2, "train", *DIGITS, "--devices", device,
                           says=["--devices", "no CUDA", "cpu"])

    @unittest.skipIf(os.environ.get("PROGRAM_HAS_CUDA") == "1", "built with CUDA")
    def test_nvtx_in_a_build_without_cuda(self):
        self.fail_with(2, "train", *DIGITS, "--nvtx", says=["--nvtx", "no CUDA", "tandem explain --trace"])

    def test_memory_limit_names_device_and_figures(self):
        self.fail_with(1, "train", *DIGITS, "--devices", "cpu:2@10KiB",
                       says=["out of memory on cpu:0", "limit of 10240", "smaller batch"])

    def test_loss_that_is_not_finite_names_step_and_device(self):
        checkpoint = self.file("run.safetensors")
        done = self.run_program("train", *DIGITS, "--devices", "cpu:2", "--quiet", "--optimizer",
                                "sgd", "--lr", "1e30", "--checkpoint", checkpoint)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"tandem: step \d+ \(epoch 1, batch \d+\): .*the loss is nan on cpu:\d")
        self.assertIn("learning rate", done.stderr)


if __name__ == "__main__":
    main()
