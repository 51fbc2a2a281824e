# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A folder in which steps of scripts/gpu-check run, for its tests."""

import pathlib
import tempfile
import unittest

from gpu_check import steps


def shell(name, text, **options):
    """A step that a shell runs; `skip` is a text."""
    reason = options.pop("skip", "")
    return steps.Step(name, options.pop("part", "tests"), ["sh", "-c", text], skip=lambda state: reason, **options)


class StepTestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tandem-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.said, self.reports = [], []

    def run_all(self, todo, budget=60):
        """The names of the steps that are left, according to a state that was read from its file."""
        self.state = steps.State(self.folder)
        self.runner = steps.Runner(self.state, budget, self.said.append, lambda *what: self.reports.append(what))
        return self.runner.run_all(todo)

    def status(self):
        return {name: s["status"] for name, s in self.state.steps.items()}
