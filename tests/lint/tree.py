# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the source tree: its layers, and its files as lines of text."""

import os
from dataclasses import dataclass, field

# What each layer may include directly; docs/architecture.md draws it. Arrows are transitive.
ARROWS = {
    "core": [],
    "runtime": ["core"],
    "tensor": ["runtime"],
    "autograd": ["tensor"],
    "ops": ["autograd"],
    "io": ["tensor"],
    "world": ["io"],
    "nn": ["ops"],
    "optim": ["ops"],
    "data": ["tensor", "io"],
    "comm": ["autograd", "world"],
    "sim": ["comm", "io", "profile"],
    "profile": ["runtime"],
    "explain": ["profile"],
    "parallel": ["nn", "optim", "comm", "profile"],
    "libtorch": ["parallel", "profile"],
    "train": ["parallel", "data", "io"],
    "report": ["parallel", "explain"],
    "cli": ["train", "report", "sim", "world"],
    "python": ["libtorch", "report"],
    "stand_in": [],
}

TOP_LEVEL = ["include", "src", "tests", "examples", "bench", "cmake", "python", "scripts", ".ci"]
CPP = {".hpp", ".cpp", ".inl", ".cu", ".cuh"}
CODE = CPP | {".py", ".cmake", ".sh"}


@dataclass
class Source:
    path: str  # relative to the root, with forward slashes
    lines: list
    place: list = field(init=False)  # the folders and the name
    suffix: str = field(init=False)

    def __post_init__(self):
        self.place = self.path.split("/")
        self.suffix = os.path.splitext(self.path)[1]

    @property
    def stem(self):
        return os.path.splitext(self.place[-1])[0]

    @property
    def is_public(self):
        return self.place[0] == "include"

    @property
    def is_cpp(self):
        return self.suffix in CPP

    @property
    def is_code(self):
        return self.suffix in CODE or self.place[-1] == "CMakeLists.txt" or self.has_shebang

    @property
    def has_shebang(self):
        return bool(self.lines) and self.lines[0].startswith("#!")

    @property
    def layer(self):
        """The layer that the file belongs to; None outside of them, and for the umbrella header."""
        if self.place[0] == "src" and len(self.place) > 2:
            return self.place[1]
        if self.place[:2] == ["include", "tandem"]:
            if len(self.place) > 3:
                return self.place[2]
            name = os.path.splitext(self.place[-1])[0]
            return name if name in ARROWS else None
        return None


def read_tree(root):
    """All text files under the top-level folders, and those directly in the root, sorted by path."""
    sources = []

    def read(path):
        with open(os.path.join(root, path), "rb") as file:
            content = file.read()
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            return
        if "\0" not in text:
            sources.append(Source(path.replace(os.sep, "/"), text.splitlines()))

    for name in os.listdir(root):
        if name == "CMakeLists.txt":
            read(name)
    for top in TOP_LEVEL:
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = [f for f in folders if f != "__pycache__"]
            for name in names:
                read(os.path.relpath(os.path.join(folder, name), root))
    return sorted(sources, key=lambda source: source.path)
