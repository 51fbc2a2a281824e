# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""docs/dp-vs-ddp.md and docs/exercises.md: each command runs, and prints the lines below it, to the last digit."""

import os
import re
import shlex

from program import ProgramTest, main

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PAGE = os.path.join(ROOT, "docs", "dp-vs-ddp.md")
EXERCISES = os.path.join(ROOT, "docs", "exercises.md")
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path):
    """Pairs of commands and the lines that are shown below them."""
    with open(path, encoding="utf-8") as page:
        found = BLOCK.findall(page.read())
    for i, (kind, content) in enumerate(found):
        if kind == "sh":
            shown = found[i + 1][1] if i + 1 < len(found) and found[i + 1][0] == "text" else ""
            yield content.strip().splitlines(), shown.splitlines()


class LessonTest(ProgramTest):
    def setUp(self):
        super().setUp()
        os.symlink(os.path.join(ROOT, "tests"), self.file("tests"))

    def run_line(self, line):
        program, *arguments = shlex.split(line)
        self.assertEqual(program, "tandem", line)
        return [one.rstrip() for one in self.succeed(*arguments).stdout.splitlines()]

    def run_page(self, path):
        """How many commands the page has, and lines that they print."""
        commands = shown_lines = 0
        for lines, shown in blocks(path):
            printed = iter([one for line in lines for one in self.run_line(line)])
            for line in shown:
                self.assertIn(line, printed, f"below {lines}: this line, or the order, is not that of the program")
            commands += len(lines)
            shown_lines += len(shown)
        return commands, shown_lines

    def test_each_command_prints_what_is_shown(self):
        commands, shown_lines = self.run_page(PAGE)
        self.assertGreaterEqual(commands, 15)
        self.assertGreaterEqual(shown_lines, 100)

    def test_the_answers_of_the_exercises_are_what_the_commands_print(self):
        commands, shown_lines = self.run_page(EXERCISES)
        self.assertGreaterEqual(commands, 12)
        self.assertGreaterEqual(shown_lines, 25)
        with open(EXERCISES, encoding="utf-8") as page:
            text = page.read()
        self.assertEqual(text.count("\n## "), 10)
        self.assertEqual(text.count("<details><summary>Answer</summary>\n"), 10)

    def test_the_sentences_repeat_what_the_tables_say(self):
        with open(PAGE, encoding="utf-8") as page:
            text = page.read()
        # GPU 0 of eight A100 in dp-classic, which the paragraph on memory quotes.
        row = re.search(r"^ +8 +4 +1  dp-classic .*? (\d+\.\d) GiB +(\d+\.\d) GiB$", text, re.MULTILINE)
        self.assertIn(f"with 8 GPUs it is {row[1]} GiB against {row[2]} GiB", text)

    def test_the_last_command_writes_the_page_of_the_picture(self):
        lines = [line for lines, _ in blocks(PAGE) for line in lines if "--html" in line]
        self.assertEqual(len(lines), 1)
        pages = []
        for _ in range(2):
            self.run_line(lines[0])
            with open(self.file("report.html"), encoding="utf-8") as page:
                pages.append(page.read())
        self.assertIn("simulated on 2 GPUs of titan-rtx-x2", pages[0])
        self.assertTrue(pages[0] == pages[1], "the page differs from run to run")
        self.assertTrue(os.path.exists(os.path.join(ROOT, "docs", "dp-vs-ddp.png")))


if __name__ == "__main__":
    main()
