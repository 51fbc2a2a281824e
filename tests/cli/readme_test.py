# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""README.md and docs/program.md: each command of the program runs; trainings end after a few steps."""

import os
import re
import shlex

from program import ProgramTest, main

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def commands(page):
    """The lines of the blocks of shell that call the program, as words."""
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        blocks = re.findall(r"^```sh\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    return [words[1:] for words in lines if words and words[0] == "tandem"]


class ReadmeTest(ProgramTest):
    def run_page(self, page, but=()):
        found = [words for words in commands(page) if words not in but]
        for words in found:
            with self.subTest(page=page, words=words):
                self.assertTrue(self.succeed(*words, *(["--steps", "4"] if words[0] in ("train", "compare") else [])).stdout)
        return [words[0] for words in found]

    def test_the_four_commands(self):
        self.assertEqual(self.run_page("README.md"), ["train", "compare", "memory", "explain"])

    def test_the_page_of_the_program(self):
        self.assertEqual(self.run_page("docs/program.md", but=commands("README.md")), ["doctor", "train", "train", "generate"])


if __name__ == "__main__":
    main()
