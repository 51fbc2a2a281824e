# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""An example's source: the comment at its top, and the program below."""

import sys


def command(program):
    """What runs a program: a file of Python, or one that was compiled."""
    return [sys.executable, "-B", program] if program.endswith(".py") else [program]


class ExampleFile:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        mark = "#" if path.endswith(".py") else "//"
        end = next((i for i, line in enumerate(lines) if not line.startswith(mark)), len(lines))
        self.path = path
        self.head = [line[len(mark):] for line in lines[:end]]
        self.program = lines[end:]

    def block(self, title):
        """The lines of the head that follow `title`, which are indented by three spaces."""
        if f" {title}" not in self.head:
            raise SystemExit(f"{self.path}: the comment at the top has no line '{title}'")
        lines = []
        for line in self.head[self.head.index(f" {title}") + 1 :]:
            if not line.startswith("   "):
                break
            lines.append(line[3:])
        return lines
