# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What the processes of a job on this host tell together: each leaves its report in a folder, where the others find it."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import tempfile
from dataclasses import dataclass
from typing import NamedTuple

from tandem.errors import FileError
from tandem.gpu_memory.report import GpuMemory


class Part(NamedTuple):
    """The report of one process."""

    rank: int
    title: str
    report: GpuMemory


@dataclass(frozen=True)
class Job:
    """The processes that one launcher or program started on this host. `size` is how many there are; 0: not known."""

    name: str
    size: int = 0

    @staticmethod
    def of_launcher() -> Job | None:
        """The job of torchrun, whose agent is the parent of all processes of a host; None: this process is not of one."""
        if "RANK" not in os.environ or "LOCAL_WORLD_SIZE" not in os.environ:
            return None
        return Job(f"{os.environ.get('TORCHELASTIC_RUN_ID', 'job')}-{os.getppid()}", int(os.environ["LOCAL_WORLD_SIZE"]))

    @property
    def folder(self) -> pathlib.Path:
        return pathlib.Path(tempfile.gettempdir(), f"tandem-memory-{os.getuid()}-{self.name}")

    def add(self, part: Part) -> list[Part]:
        """Leaves a report for the others. Returns all that came so far, in the order of ranks."""
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            told = json.dumps({"rank": part.rank, "title": part.title, "report": part.report.as_dict()})
            replace(self.folder / f"{part.rank:05}.json", told)
            return self.parts()
        except OSError as error:
            raise FileError(f"memory: cannot leave the report of rank {part.rank} in {self.folder}: {error.strerror}") from error

    def parts(self) -> list[Part]:
        found = [json.loads(file.read_text()) for file in sorted(self.folder.glob("*.json"))]
        return [Part(told["rank"], told["title"], GpuMemory.from_dict(told["report"])) for told in found]

    def is_last(self, parts: list[Part]) -> bool:
        """Whether this process is to tell of all: they all came, and no other does it."""
        if not self.size or len(parts) < self.size:
            return False
        try:
            (self.folder / "told").touch(exist_ok=False)
        except OSError:
            return False
        return True

    def forget(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def replace(path: pathlib.Path, text: str) -> None:
    """Writes a file so that another process reads all of it, or what was there before."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text)
    part.replace(path)
