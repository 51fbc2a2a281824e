# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Each advice is followed: it saves what it promised. And the largest batch that was predicted is the largest that fits."""

import json
import pathlib
import tempfile
import unittest

import launched

PROGRAM = pathlib.Path(__file__).parent / "programs" / "advised.py"
NEAR = 0.1  # of what was promised


@launched.needed
class AdviceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            done = launched.run(PROGRAM, pathlib.Path(folder, "store"), deadline=200)
        assert done.status == 0, done.errors[-2000:]
        *cls.told, cls.batch = [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]

    def test_what_was_promised_is_saved(self):
        for told in self.told:
            with self.subTest(told["remedy"]):
                self.assertIsNotNone(told["promised"], told["all"])
                self.assertLessEqual(abs(told["seen"] - told["promised"]), NEAR * told["promised"], told)

    def test_all_were_followed(self):
        self.assertEqual({told["remedy"] for told in self.told},
                         {"loss in the forward", "fewer outputs", "a process for each GPU", "recomputation", "16 bit", "let go"})

    def test_the_largest_batch(self):
        self.assertLessEqual(abs(self.batch["predicted"] - self.batch["found"]), NEAR * self.batch["found"], self.batch)


if __name__ == "__main__":
    unittest.main()
