# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Carries out a Containerfile without an engine of containers: each stage in a clean root."""

import json
import pathlib
import re
import shlex
import shutil
import subprocess

from clean_root import CleanRoot

SUITES = {"debian:12": "bookworm"}
DEADLINE = 3600  # seconds of a step: one builds tandem
INSTRUCTIONS = {"FROM", "WORKDIR", "COPY", "RUN", "ENTRYPOINT", "CMD"}


def instructions(text):
    """Pairs of an instruction and what follows it."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            if name not in INSTRUCTIONS:
                raise AssertionError(f"the test of the Containerfile does not know {name}: {line}; it knows {', '.join(sorted(INSTRUCTIONS))}")
            yield name, rest.strip()


class Stage:
    def __init__(self, name, root):
        self.name, self.root, self.place, self.program = name, root, "/", {"ENTRYPOINT": [], "CMD": []}

    def start(self, *arguments):
        """What the container prints that is started with these arguments."""
        return self.root.run(shlex.join([*self.program["ENTRYPOINT"], *(arguments or self.program["CMD"])]), self.place)


class Containerfile:
    """`after` is called with each stage that is done. One that begins where another ended takes over the other's root."""

    def __init__(self, source, work, after):
        self.source, self.work, self.stages = source, work, {}
        self._bases, self._ignored = {}, (source / ".dockerignore").read_text().split()
        stage = None
        for name, rest in instructions((source / "Containerfile").read_text()):
            if name == "FROM":
                if stage:
                    after(stage)
                stage = self._begin(*re.fullmatch(r"(\S+)(?: AS (\S+))?", rest).groups())
            elif name == "WORKDIR":
                stage.place = rest
                stage.root.inside(rest).mkdir(parents=True, exist_ok=True)
            elif name == "COPY":
                self._copy(stage, rest.split())
            elif name == "RUN":
                stage.root.run(rest, stage.place, DEADLINE)
            else:
                stage.program[name] = json.loads(rest)
        after(stage)

    def _begin(self, base, name):
        name = name or "the last"
        if base in self.stages:
            begun = Stage(name, self.stages[base].root)
            begun.place = self.stages[base].place
        else:
            if base not in self._bases:
                self._bases[base] = CleanRoot.of_debian(self.work / "base", SUITES[base])
            begun = Stage(name, self._bases[base].copy(self.work / f"root-{len(self.stages)}"))
        self.stages[name] = begun
        return begun

    def _copy(self, stage, words):
        outside = self.source
        if words[0].startswith("--from="):
            outside = self.stages[words.pop(0).removeprefix("--from=")].root.folder
        *patterns, target = words
        to = stage.root.inside(pathlib.PurePosixPath(stage.place, target))
        for pattern in patterns:
            found = [outside] if pattern == "." else sorted(outside.glob(pattern.lstrip("/")))
            if not found:
                raise AssertionError(f"COPY {' '.join(words)}: nothing is there")
            for path in found:
                if path.is_dir():
                    left_out = self._ignored if path == self.source else []
                    shutil.copytree(path, to, dirs_exist_ok=True, symlinks=True,
                                    ignore=lambda folder, names, top=path: [n for n in names if pathlib.Path(folder) == top and n in left_out])
                else:
                    place = to / path.name if target.endswith("/") else to
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, place)


def remove(folder):
    """Removes roots that hold files of any user."""
    subprocess.run(["rm", "-rf", "--one-file-system", folder], check=True)
