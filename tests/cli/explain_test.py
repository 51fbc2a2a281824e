# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What `tandem explain` says of a step."""

import json
import re

from program import ProgramTest, main

TITLES = ["Replicate", "Scatter", "Forward", "Loss", "Weigh", "Backward", "Reduce", "Vote", "Update"]


class ExplainTest(ProgramTest):
    def explain(self, *arguments):
        return json.loads(self.succeed("explain", "--json", *arguments).stdout)

    def test_text_has_numbered_steps_and_two_tables(self):
        out = self.succeed("explain", "--model", "mlp", "--devices", "cpu:4", "--batch", "32",
                           "--gpu0-bsz", "5", "--mode", "dp-server", "--loss-in-replica").stdout
        self.assertIn("32 rows on cpu:0..3 (5, 9, 9, 9)", out.splitlines()[0])
        steps = re.findall(r"^ *(\d+)\. +[\d.]+ +[\d.]+  (\w+): .*\.$", out, re.MULTILINE)
        self.assertEqual([title for _, title in steps], TITLES)
        self.assertEqual([int(number) for number, _ in steps], list(range(1, len(TITLES) + 1)))
        self.assertIn("the parameters go from cpu:0 to cpu:1..3", out)
        self.assertRegex(out, r"(?m)^bytes by link +parameter +gradient +input +activation +all +ms$")
        self.assertRegex(out, r"(?m)^cpu:3 -> cpu:0 ")
        self.assertRegex(out, r"(?m)^ms by device .*forward.*backward.*update.*collectives  waiting$")

    def test_json_adds_up(self):
        report = self.explain("--model", "cnn-small", "--devices", "cpu:2", "--batch", "6")
        self.assertEqual(report["schema_version"], 1)
        self.assertTrue(report["complete"])
        self.assertEqual([d["rows"] for d in report["devices"]], [3, 3])
        self.assertEqual([s["number"] for s in report["steps"]], list(range(1, len(report["steps"]) + 1)))
        by_link = {}
        for step in report["steps"]:
            for link in step["links"]:
                key = link["source"], link["destination"]
                by_link[key] = by_link.get(key, 0) + link["bytes"]
        self.assertEqual(by_link, {(l["source"], l["destination"]): l["bytes"] for l in report["links"]})
        for link in report["links"]:
            self.assertEqual(sum(link["bytes_by_category"].values()), link["bytes"])
        self.assertLessEqual(max(s["end_ms"] for s in report["steps"]), report["ms"])
        self.assertGreater(report["transferring_ms"], 0)
        self.assertTrue(0 <= report["overlap"] <= 1, report["overlap"])

    def test_every_model_takes_a_step(self):
        gpt = ["--layers", "1", "--width", "16", "--heads", "2", "--context", "8"]
        for model in (["gpt", *gpt], ["cnn"], ["resnet18"]):
            report = self.explain("--model", *model, "--devices", "cpu:2", "--batch", "2")
            self.assertIn("Forward", [s["title"] for s in report["steps"]])

    def test_one_device_exchanges_nothing(self):
        report = self.explain("--model", "mlp", "--mode", "single", "--loss-in-replica", "--batch", "4")
        self.assertEqual(report["links"], [])
        self.assertEqual([s["title"] for s in report["steps"]], ["Forward", "Loss", "Backward", "Update"])

    def test_classic_is_the_textbooks_ten_steps(self):
        report = self.explain("--model", "mlp", "--mode", "dp-classic", "--devices", "cpu:2", "--batch", "4")
        titles = [s["title"] for s in report["steps"] if s["title"] != "Vote"]
        self.assertEqual(titles, ["Replicate", "Scatter", "Forward", "Gather", "Loss", "Backward", "Scatter",
                                  "Backward", "Reduce", "Update"])

    def test_wrong_command_lines_are_one_sentence(self):
        self.fail_with(2, "explain", "--batch", "0", says=["--batch", "at least 1"])
        self.fail_with(2, "explain", "--model", "vgg", says=["--model", "vgg", "mlp"])
        self.fail_with(2, "explain", "--devices", "cpu:2", "--chunk-sizes", "1,2,3", "--batch", "6",
                       says=["--chunk-sizes", "3 sizes", "2 devices"])


if __name__ == "__main__":
    main()
