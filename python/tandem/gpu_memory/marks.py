# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Where each thread was, and when: the phase of the step, and the module or node that ran."""

from __future__ import annotations

import bisect
import threading
import time
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch._C._autograd import _get_sequence_nr as sequence_number

_PREFIX = "tandem:"  # of labels that are ours in the allocator's history


def now() -> int:
    """Microseconds, on the clock of the allocator's history."""
    return time.time_ns() // 1000


class Mark(NamedTuple):
    """From `time` on the thread `thread`, which has the GPU `device`, is in this phase and module.

    `sequence` is the number of the next node of the graph that the thread makes. `depth` counts the modules that
    are open around it. `op` is the node, in backward.
    """

    time: int
    thread: int
    device: int
    phase: str
    module: str = ""
    depth: int = 0
    sequence: int = 0
    op: str = ""


@dataclass
class _Line:
    """The marks of one thread, in order."""

    marks: list[Mark] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    sequences: list[int] = field(default_factory=list)


class Marks:
    """A log of marks, and a search in it. Where PyTorch can label its history by thread, the label is the mark's number."""

    def __init__(self, labels: bool | None = None) -> None:
        able = hasattr(torch.cuda.memory, "_set_memory_metadata")
        self._labels = able if labels is None else labels and able
        self._former = torch.cuda.memory._get_memory_metadata() if self._labels and torch.cuda.is_initialized() else ""
        self._all: list[Mark] = []
        self._lines: dict[int, _Line] = {}
        self._by_phase: dict[str, list[int]] = {}
        self._sorted = 0  # marks that _by_phase has
        self._lock = threading.Lock()

    def set(self, phase: str, module: str = "", depth: int = 0, op: str = "") -> None:
        """The calling thread goes on in this phase and module."""
        thread = threading.get_ident()
        mark = Mark(now(), thread, torch.cuda.current_device(), phase, module, depth, sequence_number(), op)
        with self._lock:
            number = len(self._all)
            self._all.append(mark)
            line = self._lines.setdefault(thread, _Line())
        line.marks.append(mark)
        line.times.append(mark.time)
        line.sequences.append(mark.sequence)
        if self._labels:
            torch.cuda.memory._set_memory_metadata(f"{_PREFIX}{number}")

    def last(self) -> Mark | None:
        """The calling thread's last mark."""
        line = self._lines.get(threading.get_ident())
        return line.marks[-1] if line else None

    def clear_label(self) -> None:
        """The calling thread's later allocations carry the label again that the program gave them."""
        if self._labels:
            torch.cuda.memory._set_memory_metadata(self._former)

    def find(self, device: int, when: int, label: str) -> Mark | None:
        """Where the thread was that made an entry of the history; without a label: the likeliest one by time and GPU."""
        if label.startswith(_PREFIX) and label[len(_PREFIX):].isdigit():
            number = int(label[len(_PREFIX):])
            return self._all[number] if number < len(self._all) else None
        here: list[Mark] = []
        for line in self._lines.values():
            place = bisect.bisect_right(line.times, when)
            if place:
                here.append(line.marks[place - 1])
        # A thread that is inside of a module or node of this GPU, before one that only has the GPU.
        return max(here, key=lambda m: (m.device == device, m.depth > 0, m.time), default=None)

    def of_node(self, sequence: int, caller: int | None, device: int | None) -> Mark | None:
        """Where a node of the graph was made: in the thread `caller`, or (None) in a thread that had the GPU `device`."""
        if caller is not None:
            lines = [self._lines[caller]] if caller in self._lines else []
        else:
            lines = [line for line in self._lines.values() if line.marks[0].device == device and line.marks[0].depth]
        found: list[Mark] = []
        for line in lines:
            place = bisect.bisect_right(line.sequences, sequence)
            if place and (place < len(line.marks) or caller is not None):
                found.append(line.marks[place - 1])
        return max(found, key=lambda m: (m.depth, m.time), default=None)

    def end_of(self, mark: Mark) -> int | None:
        """When the thread left what `mark` says; None: it did not."""
        line = self._lines[mark.thread]
        for later in line.marks[bisect.bisect_right(line.times, mark.time):]:
            if later.depth < mark.depth or later.phase != mark.phase or (mark.op and later is not mark):
                return later.time
        return None

    def phase_at(self, mark: Mark, when: int) -> str:
        """The phase of a mark's thread at that later time: a wrapper gathers once its copies have run."""
        if mark.phase != "replicate":
            return mark.phase
        gathered = self.first("gather", mark.time)
        return "gather" if gathered is not None and gathered <= when else mark.phase

    def first(self, phase: str, after: int = 0) -> int | None:
        """When any thread was first in `phase`."""
        times = self._times_of(phase)
        place = bisect.bisect_left(times, after)
        return times[place] if place < len(times) else None

    def _times_of(self, phase: str) -> list[int]:
        """When threads began a phase, in order."""
        if len(self._all) != self._sorted:  # it is asked after the recording, mostly
            self._by_phase, self._sorted = {}, len(self._all)
            for mark in self._all:
                self._by_phase.setdefault(mark.phase, []).append(mark.time)
            for times in self._by_phase.values():
                times.sort()
        return self._by_phase.get(phase, [])

    @property
    def count(self) -> int:
        return len(self._all)
