# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Where each thread was, and when: the phase of the step, and the module or node that ran."""

from __future__ import annotations

import bisect
import itertools
import threading
import time
from typing import NamedTuple

import torch
from torch._C._autograd import _get_sequence_nr as sequence_number

_numbers = itertools.count()  # of logs: a thread keeps its label of one that has ended
_IDLE = "idle"  # the phase of a thread that has nothing to do


def now() -> int:
    """Microseconds, on the clock of the allocator's history."""
    return time.time_ns() // 1000


class Mark(NamedTuple):
    """From `time` on the thread of line `line`, which has the GPU `device`, is in this phase and module.

    `sequence` is the number of the next node of the graph that the thread makes. `depth` counts the modules that
    are open around it. `op` is the node, in backward.
    """

    time: int
    line: int
    device: int
    phase: str
    module: str = ""
    depth: int = 0
    sequence: int = 0
    op: str = ""


class _Line:
    """The marks of one thread, in order. Its times and sequence numbers are listed when they are asked for, to be searched."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.marks: list[Mark] = []
        self._times: list[int] = []
        self._sequences: list[int] = []

    @property
    def times(self) -> list[int]:
        self._times += [mark.time for mark in self.marks[len(self._times):]]
        return self._times

    @property
    def sequences(self) -> list[int]:
        self._sequences += [mark.sequence for mark in self.marks[len(self._sequences):]]
        return self._sequences


class _Own(threading.local):
    """The calling thread's line."""

    line: _Line | None = None


class Marks:
    """A log of marks, and a search in it. Where PyTorch can label its history by thread, the label is the mark's line and place."""

    def __init__(self, labels: bool | None = None) -> None:
        able = hasattr(torch.cuda.memory, "_set_memory_metadata")
        self._labels = able if labels is None else labels and able
        self._prefix = f"tandem:{next(_numbers)}:"  # of labels that are this log's in the allocator's history
        self._former = torch.cuda.memory._get_memory_metadata() if self._labels and torch.cuda.is_initialized() else ""
        self._lines: list[_Line] = []
        self._own = _Own()
        self._by_phase: dict[str, list[int]] = {}
        self._sorted = 0  # marks that _by_phase has
        self._lock = threading.Lock()

    def set(self, phase: str, module: str = "", depth: int = 0, op: str = "") -> None:
        """The calling thread goes on in this phase and module."""
        line = self._own.line or self._new_line()
        marks = line.marks
        if self._labels:
            torch._C._cuda_setMemoryMetadata(f"{self._prefix}{line.number}.{len(marks)}")
        marks.append(Mark(now(), line.number, torch._C._cuda_getDevice(), phase, module, depth, sequence_number(), op))

    def end_backward(self) -> None:
        """The calling thread's backward is done, so that PyTorch's threads for it are idle."""
        for line in self._lines:
            if line is not self._own.line and line.marks and line.marks[-1].phase == "backward":
                line.marks.append(line.marks[-1]._replace(time=now(), phase=_IDLE, module="", depth=0, op=""))

    def last(self) -> Mark | None:
        """The calling thread's last mark."""
        line = self._own.line
        return line.marks[-1] if line and line.marks else None

    def clear_label(self) -> None:
        """The calling thread's later allocations carry the label again that the program gave them."""
        if self._labels:
            torch.cuda.memory._set_memory_metadata(self._former)

    def find(self, device: int, when: int, label: str) -> Mark | None:
        """Where the thread was that made an entry of the history; without a label: the likeliest one by time and GPU."""
        number, _, place = label.removeprefix(self._prefix).partition(".")
        if label.startswith(self._prefix) and number.isdigit() and place.isdigit():
            known = int(number) < len(self._lines) and int(place) < len(self._lines[int(number)].marks)
            return self._lines[int(number)].marks[int(place)] if known else None
        here: list[Mark] = []
        for line in self._lines:
            before = bisect.bisect_right(line.times, when)
            if before and line.marks[before - 1].phase != _IDLE:
                here.append(line.marks[before - 1])
        # A thread that is inside of a module or node of this GPU, before one that only has the GPU.
        return max(here, key=lambda m: (m.device == device, m.depth > 0, m.time), default=None)

    def of_node(self, sequence: int, replica: int | None) -> Mark | None:
        """Where a node of the graph was made: in the calling thread, or in a thread that had the GPU `replica`."""
        if replica is None:
            lines = [self._own.line] if self._own.line else []
        else:
            lines = [line for line in self._lines if line.marks[0].device == replica and line.marks[0].depth]
        found: list[Mark] = []
        for line in lines:
            place = bisect.bisect_right(line.sequences, sequence)
            if place and (place < len(line.marks) or replica is None):
                found.append(line.marks[place - 1])
        return max(found, key=lambda m: (m.depth, m.time), default=None)

    def end_of(self, mark: Mark) -> int | None:
        """When the thread left what `mark` says; None: it did not."""
        line = self._lines[mark.line]
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
        count = sum(len(line.marks) for line in self._lines)
        if count != self._sorted:  # it is asked after the recording, mostly
            self._by_phase, self._sorted = {}, count
            for line in self._lines:
                for mark in line.marks:
                    self._by_phase.setdefault(mark.phase, []).append(mark.time)
            for times in self._by_phase.values():
                times.sort()
        return self._by_phase.get(phase, [])

    def _new_line(self) -> _Line:
        with self._lock:
            self._own.line = _Line(len(self._lines))
            self._lines.append(self._own.line)
        return self._own.line
