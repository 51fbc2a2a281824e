# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Published models by name: steps of full size on devices that compute nothing, and real data of other sizes."""

import json

from program import ProgramTest, main

# Numbers of parameters, as torchvision and Hugging Face publish them.
PUBLISHED = {"resnet50": 25_557_032, "resnet101": 44_549_160, "resnext50_32x4d": 25_028_904,
             "resnext101_32x8d": 88_791_336, "vgg16": 138_357_544, "bert-base": 109_514_298}


class ModelsTest(ProgramTest):
    def simulate(self, model, mode, *flags):
        done = self.succeed("cluster", "simulate", "--cluster", "v100-16x8", "--model", model, "--mode", mode, *flags, "--json")
        return json.loads(done.stdout)

    def test_each_takes_a_step_in_each_mode_of_shares(self):
        for model, parameters in PUBLISHED.items():
            peaks = []
            for mode in ("ddp", "dp-sharded", "dp-fully-sharded"):
                report = self.simulate(model, mode, "--gpus", "4", "--batch", "4")
                self.assertEqual([report["model"], report["rows"], len(report["gpus"])], [model, 4, 4])
                peaks.append(max(gpu["peak_bytes"] for gpu in report["gpus"]))
            # Weights, gradients and two moments; a share of these where the mode has shares.
            self.assertGreater(peaks[0], 16 * parameters, model)
            self.assertLess(peaks[1], peaks[0], model)
            self.assertLess(peaks[2], peaks[0], model)

    def test_random_images_are_of_the_size_of_imagenet(self):
        report = self.simulate("resnet50", "single")
        self.assertEqual(report["rows"], 32)
        # Forward and backward, by torchvision's number of multiplications, at the peak of a V100.
        least = 32 * 2 * 3 * 4.09e9 / 15.7e12 * 1e3
        self.assertGreater(report["step_ms"], least)
        self.assertLess(report["step_ms"], 4 * least)
        self.assertGreater(self.simulate("resnext50_32x4d", "single")["step_ms"], report["step_ms"], "small products")

    def test_gpt_of_any_size(self):
        sizes = ["--layers", "2", "--width", "64", "--heads", "2", "--context", "32"]
        step = ["cluster", "simulate", "--cluster", "a100-80x8", "--model", "gpt", *sizes, "--mode", "single", "--batch", "1", "--json"]
        peak = {v: json.loads(self.succeed(*step, "--vocabulary", str(v)).stdout)["gpus"][0]["peak_bytes"] for v in (1000, 101_000)}
        # Weights, gradients and two moments of 100,000 more rows, which head and embedding share.
        self.assertGreater(peak[101_000] - peak[1000], 4 * 4 * 64 * 100_000)
        self.fail_with(2, *step, "--vocabulary", "10", says=["--vocabulary 10 is less than the", "characters"])
        self.fail_with(2, "explain", "--model", "gpt2", "--vocabulary", "1000", says=["--vocabulary", "gpt2"])

    def test_batch_norm_per_replica_exchanges_nothing(self):
        step = ["explain", "--model", "resnet18", "--devices", "cpu:2@shape-only", "--mode", "ddp", "--batch", "8", "--json"]

        def exchanged(*flags):
            report = json.loads(self.succeed(*step, *flags).stdout)
            return sum(link["bytes_by_category"].get("activation", 0) for link in report["links"])

        # 20 batch norms, of which each exchanges sums in forward and in backward; the loss has 16 bytes.
        self.assertEqual(exchanged("--batch-norm", "per-replica"), 16)
        self.assertGreater(exchanged(), 20 * 2 * 64 * 4)
        self.assertEqual(exchanged(), exchanged("--batch-norm", "synchronised"))
        self.fail_with(2, "explain", "--model", "mlp", "--batch-norm", "merged", says=["--batch-norm", "resnet18", "mlp"])

    def test_stems_for_imagenet_take_small_images(self):
        def memory(model):
            done = self.succeed("memory", "--model", model, "--data", "digits", "--devices", "cpu:1", "--batch", "8",
                                "--steps", "1", "--shape-only", "--json")
            device = json.loads(done.stdout)["devices"][0]
            return device["peak_bytes"]

        # With ten classes instead of a thousand, and a channel instead of three.
        fewer = 990 * 2049 + 2 * 64 * 49
        for model in ("resnet50", "resnext50_32x4d"):
            self.assertGreater(memory(model), 16 * (PUBLISHED[model] - fewer))
            self.assertLess(memory(model), 16 * PUBLISHED[model] * 1.2)
        done = self.succeed("train", "--model", "resnet50", "--data", "digits", "--devices", "cpu:1", "--batch", "2",
                            "--steps", "1", "--json")
        self.assertIn("ResNet: 23,522,250 parameters", done.stderr)
        self.assertEqual(json.loads(done.stdout)["steps"], 1)

    def test_vgg16_refuses_images_that_its_pooling_would_not_leave(self):
        self.fail_with(2, "train", "--model", "vgg16", "--data", "digits", "--devices", "cpu:1",
                       says=["vgg16", "at least 32 x 32", "8 x 8", "cifar10"])

    def test_bert_is_not_trained_on_what_it_sees(self):
        self.fail_with(2, "train", "--model", "bert-base", "--data", "text",
                       says=["bert-base", "masks none", "--model gpt or gpt2"])
        self.fail_with(2, "train", "--model", "bert-base", "--data", "digits", says=["bert-base"])
        self.fail_with(2, "cluster", "simulate", "--cluster", "t4x4", "--model", "bert-base", "--layers", "2",
                       says=["--layers", "bert-base", "says its sizes"])
        self.fail_with(2, "cluster", "simulate", "--cluster", "t4x4", "--model", "vgg16", "--recompute",
                       says=["--recompute", "vgg16", "resnet50", "bert-base"])

    def test_bert_has_its_size_on_a_text_and_can_recompute(self):
        def peak(*flags):
            done = self.succeed("memory", "--model", "bert-base", "--devices", "cpu:1", "--batch", "16", "--steps", "1",
                                "--shape-only", *flags, "--json")
            return json.loads(done.stdout)["devices"][0]["peak_bytes"]

        plain, again = peak(), peak("--recompute")
        # What 11 more blocks keep of 16 x 512 tokens: the hidden layer before and after GELU.
        kept = 11 * 16 * 512 * 2 * 3072 * 4
        self.assertGreater(plain, 16 * PUBLISHED["bert-base"])
        self.assertGreater(plain - again, kept)


if __name__ == "__main__":
    main()
