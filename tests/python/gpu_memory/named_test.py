# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The programs of tests/stand_in/torch: of what they ask of any GPU, at most 3 % has no cause."""

import json
import pathlib
import unittest

import launched

MOST_UNNAMED = 0.03
PROGRAM = pathlib.Path(__file__).parent / "programs" / "named.py"


@launched.needed
class NamedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = launched.run(PROGRAM, pathlib.Path(launched.__file__).parent, deadline=280)
        assert done.status == 0, done.errors[-2000:]
        told = [json.loads(line) for line in done.output.splitlines() if line.startswith('{"name"')]
        cls.reports = [case for case in told if "report" in case]

    def test_little_is_unnamed(self):
        for case in self.reports:
            for device in case["report"]["devices"]:
                causes = device["peak_by_cause"]
                asked = device["peak_bytes"] - causes.get("rounding", 0)
                self.assertLessEqual(causes.get("unnamed", 0), MOST_UNNAMED * asked, (case["name"], case["several"], device["name"], causes))

    def test_all_were_measured(self):
        self.assertGreaterEqual(len({case["name"] for case in self.reports}), 17)  # three or more are of packages
        for case in self.reports:
            with self.subTest(case["name"]):
                self.assertEqual(len(case["report"]["devices"]) > 1, case["several"])


if __name__ == "__main__":
    unittest.main()
