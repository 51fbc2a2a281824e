# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A program whose table of modes has one more row shows it wherever modes are: seventh_mode_test.py PROGRAM."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cli"))

from program import DIGITS, MODES, ProgramTest, main  # pylint: disable=wrong-import-position

MODE = "dp-all-reduce-at-end"
RUN = [*DIGITS, "--model", "mlp", "--devices", "cpu:3", "--dtype", "f64", "--loss-in-replica"]


class SeventhModeTest(ProgramTest):
    def test_it_is_listed_last(self):
        self.assertEqual(len(MODES), 8)
        self.assertEqual(MODES[-1], MODE)
        self.assertIn(f"all gradients to all devices after backward ({MODE})", " ".join(self.succeed("train", "--help").stdout.split()))

    def test_it_trains_as_ddp_does(self):
        def losses(mode):
            return json.loads(self.succeed("train", *RUN, "--mode", mode, "--epochs", "1", "--json", "--quiet").stdout)["epochs"][0]["loss"]

        self.assertEqual(losses(MODE), losses("ddp"))

    def test_it_is_compared_with_all_others(self):
        compared = json.loads(self.succeed("compare", *RUN, "--steps", "4", "--json", "--quiet").stdout)["modes"]
        self.assertEqual([mode["mode"] for mode in compared], MODES)
        for mode in compared:
            self.assertLessEqual(mode["max_relative_difference"], 1e-12, mode["mode"])

    def test_its_memory_is_told_by_the_rules_of_its_row(self):
        def memory(mode):
            return json.loads(self.succeed("memory", *RUN, "--mode", mode, "--json", "--quiet").stdout)

        own, ddp = memory(MODE), memory("ddp")
        self.assertEqual(own["mode"], MODE)
        self.assertEqual([device["formulas"] for device in own["devices"]], [device["formulas"] for device in ddp["devices"]])

    def test_the_page_has_its_column_and_the_table_its_words(self):
        page = self.file("page.html")
        table = self.succeed("compare", *RUN, "--steps", "2", "--quiet", "--html", page).stdout
        self.assertIn("to be seen wherever modes are listed", table)
        with open(page, encoding="utf-8") as file:
            self.assertIn(f"<span>{MODE}</span>", file.read())


if __name__ == "__main__":
    main()
