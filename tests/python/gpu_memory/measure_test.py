# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A step on GPUs, measured: sums are the allocator's to the byte, nothing of weight is unnamed, and measuring changes nothing."""

import json
import pathlib
import unittest

import launched

PROGRAMS = pathlib.Path(__file__).parent / "programs"
MOST_UNNAMED = 0.03


@launched.needed
class MeasureTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = launched.run(PROGRAMS / "measured.py")
        assert done.status == 0, done.errors[-2000:]
        cls.cases = [json.loads(line) for line in done.output.splitlines()]

    def each(self):
        for case in self.cases:
            yield case, case["report"]["devices"], f"{case['name']}, labels {case['labels']}"

    def of(self, name, labels=True):
        case = next(case for case in self.cases if (case["name"], case["labels"]) == (name, labels))
        return {device["name"]: device["peak_by_cause"] for device in case["report"]["devices"]}

    def test_sums_are_the_allocators(self):
        for case, devices, name in self.each():
            self.assertEqual([device["peak_bytes"] for device in devices], [peak for peak in case["measured"] if peak], name)
            for device in devices:
                self.assertEqual(sum(row["bytes"] for row in device["rows"]), device["peak_bytes"], name)
                self.assertEqual(sum(device["peak_by_category"].values()), device["peak_bytes"], name)

    def test_measuring_changes_no_peak(self):
        for case, _, name in self.each():
            self.assertEqual(case["measured"], case["plain"], name)

    def test_little_is_unnamed(self):
        for _, devices, name in self.each():
            for device in devices:
                self.assertLessEqual(device["unnamed"], MOST_UNNAMED, (name, device["rows"][:8]))

    def test_all_cases_ran(self):
        self.assertEqual(len(self.cases), 28)

    def test_outputs_of_all_gpus_are_on_the_first(self):
        causes = self.of("words on four")
        outputs = 16 * 8 * 2000 * 4
        for cause in ("saved by the loss", "gradient of an output"):
            self.assertGreaterEqual(causes["cuda:0"][cause], outputs)
            self.assertNotIn(cause, causes["cuda:1"])
        self.assertEqual(causes["cuda:0"]["optimizer state"] // (2 * 4), causes["cuda:0"]["parameter"] // 4)
        self.assertNotIn("optimizer state", causes["cuda:1"])

    def test_copies_are_of_the_parameters_size(self):
        causes = self.of("images on four")
        for gpu in ("cuda:1", "cuda:2", "cuda:3"):
            self.assertEqual(causes[gpu]["parameter copy"], causes["cuda:0"]["parameter"])

    def test_autocasts_weights_are_named(self):
        causes = self.of("in 16 bit")["cuda:0"]
        self.assertGreater(causes["parameter in 16 bit"], 0)
        self.assertLessEqual(causes["parameter in 16 bit"], causes["parameter"] // 2)
        self.assertNotIn("parameter in 16 bit", self.of("images")["cuda:0"])

    def test_weights_of_a_part_that_is_not_called(self):
        """MultiheadAttention uses the weight of its out_proj itself; linear1 is called."""
        case = next(case for case in self.cases if case["name"] == "attention in 16 bit on four")
        rows = {row["module"]: row["bytes"] for row in case["report"]["devices"][1]["rows"] if row["cause"] == "parameter in 16 bit"}
        self.assertEqual(rows["self_attn"], 2 * 64 * 64)
        self.assertEqual(rows["linear1"], 2 * 64 * 256)

    def test_inputs_by_keyword(self):
        for name, rows in (("by keyword", (128,)), ("by keyword on four", (128, 32, 32, 32))):
            for gpu, n in enumerate(rows):
                with self.subTest(name, gpu=gpu):
                    self.assertEqual(self.of(name)[f"cuda:{gpu}"]["input"], 2 * n * 256 * 4)

    def test_state_that_an_update_replaces(self):
        for labels in (True, False):
            causes = self.of("by closure", labels)["cuda:0"]
            self.assertGreater(causes["optimizer state"], 8 * causes["parameter"])  # four steps of history, of two vectors each
            self.assertIn("workspace of the update", causes)

    def test_parameters_are_named_as_in_the_model(self):
        for case, devices, name in self.each():
            if case["name"].startswith("words"):
                owners = {row["module"] for row in devices[0]["rows"] if row["cause"] in ("parameter", "optimizer state")}
                self.assertEqual(owners, {"embed.weight", *(f"{part}.{kind}" for part in ("head", "block.0", "block.2") for kind in ("weight", "bias"))}, name)

    def test_modules_are_named_as_in_the_model(self):
        for case, devices, name in self.each():
            if case["name"].startswith("images"):
                saved = {row["module"] for device in devices for row in device["rows"] if row["cause"] == "saved activation"}
                self.assertIn("layers.0.c1", saved, name)


if __name__ == "__main__":
    unittest.main()
