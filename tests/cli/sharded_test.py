# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints in several files, read here as their format's description says, without tandem."""

import json
import os
import shutil
import struct

from program import DIGITS, ProgramTest, main

SIZES = {"F32": 4, "F64": 8, "I64": 8}


def read_safetensors(path):
    """The metadata of a file, and the dtype, shape and bytes of each tensor."""
    with open(path, "rb") as file:
        content = file.read()
    (size,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8:8 + size])
    metadata = header.pop("__metadata__")
    data = content[8 + size:]
    tensors, end = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, stop = entry["data_offsets"]
        assert begin == end, f"{path}: a gap before {name}"
        assert (8 + size + begin) % SIZES[entry["dtype"]] == 0, f"{path}: {name} is not aligned"
        tensors[name] = (entry["dtype"], entry["shape"], data[begin:stop])
        end = stop
    assert end == len(data), f"{path}: bytes behind the last tensor"
    return metadata, tensors


class ShardedTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.folder = self.file("run")

    def train(self, *arguments, devices="cpu:3", mode="dp-fully-sharded", checkpoint=None):
        return self.succeed("train", *DIGITS, "--devices", devices, "--mode", mode, "--checkpoint",
                            checkpoint or self.folder, "--json", "-", *arguments)

    def read_index(self, what):
        with open(os.path.join(self.folder, what + ".safetensors.index.json"), encoding="utf-8") as file:
            return json.load(file)

    def read_shards(self, what):
        """All tensors, of the files that the index names, and the bytes of each file's tensors."""
        index = self.read_index(what)
        tensors, sizes = {}, {}
        for file in sorted(set(index["weight_map"].values())):
            metadata, held = read_safetensors(os.path.join(self.folder, file))
            self.assertEqual(metadata["format"], "pt")  # transformers refuses a file without it
            self.assertEqual(set(held), {name for name, at in index["weight_map"].items() if at == file})
            tensors.update(held)
            sizes[file] = sum(len(content) for _, _, content in held.values())
        self.assertEqual(index["metadata"]["total_size"], sum(sizes.values()))
        return tensors, sizes

    def test_the_files_are_those_of_hugging_face_and_have_the_run_of_one_file(self):
        one = self.file("one")
        self.train("--steps", "3", checkpoint=one)
        self.train("--steps", "3", "--checkpoint-shards", "3")
        _, expected = read_safetensors(one)
        names = [f"model-0000{i}-of-00003.safetensors" for i in (1, 2, 3)]
        model, sizes = self.read_shards("model")
        self.assertEqual(sorted(sizes), names)
        own, own_sizes = self.read_shards("optimizer")
        self.assertEqual(sorted(own_sizes), [name.replace("model", "optimizer") for name in names])
        self.assertEqual({"model." + name: x for name, x in model.items()}
                         | {"optimizer." + name: x for name, x in own.items()}, expected)
        # hidden.weight and its state have most of the bytes; the rest is dealt out evenly.
        self.assertEqual(sizes, dict(zip(names, self.dealt(model, 3))))
        self.assertEqual(own_sizes, dict(zip(sorted(own_sizes), self.dealt(own, 3))))
        self.assertEqual(sorted(os.listdir(self.folder)),
                         sorted([*sizes, *own_sizes, "model.safetensors.index.json",
                                 "optimizer.safetensors.index.json"]))

    @staticmethod
    def dealt(tensors, files):
        """What each file has where each tensor, from the largest on, goes to the emptiest file."""
        bins = [0] * files
        for size in sorted((len(content) for _, _, content in tensors.values()), reverse=True):
            bins[bins.index(min(bins))] += size
        return bins

    def test_a_run_goes_on_with_other_devices_and_files(self):
        whole = self.file("whole")
        self.train("--epochs", "1", checkpoint=whole)
        self.train("--epochs", "1", "--steps", "9", "--checkpoint-shards", "3")
        done = self.train("--epochs", "1", "--checkpoint-shards", "3", "--resume")
        self.assertIn("resumed from run at step 9", done.stderr.replace(self.folder, "run"))
        model, _ = self.read_shards("model")
        _, expected = read_safetensors(whole)
        for name, tensor in model.items():
            self.assertEqual(tensor, expected["model." + name], name)
        done = self.train("--epochs", "2", "--checkpoint-shards", "2", "--resume", devices="cpu:2",
                          mode="ddp")
        self.assertEqual(json.loads(done.stdout)["steps"], 23)
        self.assertEqual(len(os.listdir(self.folder)), 6)

    def test_a_new_run_says_what_it_replaces(self):
        os.mkdir(self.folder)
        shards = ("--checkpoint-shards", "2")
        self.assertNotIn("replace", self.train("--steps", "3", *shards).stderr)
        self.assertIn("holds a run of cnn-small 1x8x8 f32, adamw at step 3, which this run's first save will "
                      "replace", self.train("--steps", "1", *shards).stderr)

    def test_what_cannot_be_replaced_is_refused_before_the_run(self):
        train = ["train", *DIGITS, "--devices", "cpu:2", "--steps", "1", "--checkpoint", self.folder]
        self.fail_with(2, "train", *DIGITS, "--checkpoint-shards", "2", says=["--checkpoint-shards"])
        self.fail_with(2, *train, "--checkpoint-shards", "0", says=["--checkpoint-shards", "'0'"])
        os.mkdir(self.folder)
        self.fail_with(1, *train, says=[self.folder, "is a folder", "--checkpoint-shards"])
        with open(os.path.join(self.folder, "thesis.tex"), "w", encoding="utf-8"):
            pass
        self.fail_with(1, *train, "--checkpoint-shards", "2", says=[self.folder, "'thesis.tex'"])
        self.assertEqual(os.listdir(self.folder), ["thesis.tex"])
        shutil.rmtree(self.folder)
        self.succeed(*train)
        self.fail_with(1, *train, "--checkpoint-shards", "2", says=[self.folder, "is not a folder"])

    def test_generate_speaks_the_same_from_both_forms(self):
        sizes = ["--data", "text", "--layers", "1", "--width", "16", "--heads", "2", "--context", "16",
                 "--batch", "8", "--steps", "3", "--devices", "cpu:2", "--quiet"]
        spoken = set()
        for path, more in ((self.file("one"), []), (self.folder, ["--checkpoint-shards", "2"])):
            self.succeed("train", *sizes, "--checkpoint", path, *more)
            spoken.add(self.succeed("generate", "--checkpoint", path, "--tokens", "20", "--seed", "3").stdout)
        self.assertEqual(len(spoken), 1)


if __name__ == "__main__":
    main()
