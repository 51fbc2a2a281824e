#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Carries out the Containerfile in clean roots, and uses what is there as a stranger would: the program and the library.

usage: container_test.py SOURCE_DIR WORK_DIR
"""

import json
import pathlib
import shutil
import sys
import time
import unittest

import clean_root
import consumer
import containerfile

SKIPPED = 77  # what ctest takes for skipped
SOURCE, WORK = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
PLACE = "/tmp/app"


class InstructionsTest(unittest.TestCase):
    def test_lines_are_joined_and_others_refused(self):
        self.assertEqual(list(containerfile.instructions("# no\nRUN a && \\\n  b\n\nCMD []\n")), [("RUN", "a &&    b"), ("CMD", "[]")])
        self.assertRaisesRegex(AssertionError, "does not know ADD", list, containerfile.instructions("ADD a b\n"))


class ContainerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        containerfile.remove(WORK)
        cls.addClassCleanup(containerfile.remove, WORK)
        WORK.mkdir(parents=True)
        cls.editor = json.loads((SOURCE / ".devcontainer/devcontainer.json").read_text())
        cls.opened = []
        cls.file = containerfile.Containerfile(SOURCE, WORK, cls.after)
        cls.last = cls.file.stages["the last"]

    @classmethod
    def after(cls, stage):
        """The editor opens the stage that it names, over the sources, before another stage goes on from there."""
        if stage.name != cls.editor["build"]["target"]:
            return
        sources = stage.root.inside("/workspaces/tandem")
        shutil.copytree(SOURCE, sources, symlinks=True, ignore=shutil.ignore_patterns("build", "dist", ".git"))
        cls.opened.append(stage.root.run(cls.editor["postCreateCommand"], "/workspaces/tandem"))
        shutil.rmtree(sources)

    def test_the_editor_opens_a_build_that_is_configured(self):
        folder = SOURCE / ".devcontainer"
        self.assertEqual((folder / self.editor["build"]["dockerfile"]).resolve(), SOURCE / "Containerfile")
        self.assertEqual((folder / self.editor["build"]["context"]).resolve(), SOURCE)
        self.assertEqual(len(self.opened), 1)
        self.assertIn("Build files have been written", self.opened[0])

    def test_the_program(self):
        self.assertIn("Start here", self.last.start())
        told = json.loads(self.last.start("compare", "--devices", "cpu:2", "--model", "mlp", "--steps", "2", "--json"))
        self.assertIn("modes", told)
        self.assertRegex(self.last.start("doctor"), r"cores +\d")

    def test_the_image_has_nothing_of_its_build(self):
        self.assertFalse(self.last.root.inside("/tandem").exists())
        self.assertEqual(self.last.root.run("ls /tmp; command -v g++ cmake || true").split(), [])

    def test_a_program_of_a_stranger(self):
        """By find_package and by pkg-config. The seconds are said, and not asserted."""
        root = self.last.root.copy(WORK / "stranger")
        root.run("apt-get update && apt-get install -y --no-install-recommends g++ cmake make pkgconf", deadline=900)
        consumer.write_project(root.inside(PLACE))
        ways = {"find_package": "cmake -B build && cmake --build build && build/why_full page.html",
                "pkg-config": "c++ -std=c++20 why_full.cpp -o why_full $(pkg-config --cflags --libs tandem-report) && ./why_full page.html"}
        for way, command in ways.items():
            with self.subTest(way):
                began = time.monotonic()
                self.assertRegex(root.run(command, PLACE), "imbalance")
                print(f"a program by {way}, from its source to its page: {time.monotonic() - began:.1f} s")
                page = root.inside(PLACE) / "page.html"
                self.assertTrue(page.read_text().startswith("<!DOCTYPE html>"))
                page.unlink()


if __name__ == "__main__":
    if why := clean_root.missing():
        print(f"container_test.py: skipped: {why}")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], verbosity=2)
