# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Gives each block a cause, a phase and a module: what is known to lie there, or else when it was made and when it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from tandem.gpu_memory import causes
from tandem.gpu_memory.graph import BROADCAST, SEVERAL
from tandem.gpu_memory.marks import Mark, Marks
from tandem.gpu_memory.notes import Note, Notes
from tandem.gpu_memory.replay import Block

_OUTSIDE = ("loss", "between", "gather")  # phases of the program's own code around the model


_WEAK = (causes.OUTPUT, causes.HELD)  # they count where a block's life says nothing better


class Share(NamedTuple):
    """A part of a block, for one cause."""

    cause: str
    phase: str  # that made the block; "before": it was there before the recording
    module: str
    nbytes: int


class KnownSizes(NamedTuple):
    """What tells blocks that no tensor of Python leads to."""

    casts: dict[str, Counter[int]]  # by module: bytes of the parameters that it may use in 16 bit, where autocast is on, and how many
    buckets: set[int]  # bytes of those of DistributedDataParallel
    cublas: set[tuple[int, int]]  # GPU and address of its workspaces
    cudnn: set[str]  # modules that it computes


class Attribution:
    """The shares of blocks. Deaths at or after `end` (by GPU, a place in its history) count as not seen: there the program failed."""

    def __init__(self, marks: Marks, notes: Notes, known: KnownSizes, ends: dict[int, int]) -> None:
        self._marks, self._known, self._ends = marks, known, ends
        self._notes_of = notes.of_blocks
        self._backward = marks.first("backward")
        self._cast: Counter[tuple[Mark, int]] = Counter()

    def shares(self, blocks: Iterable[Block]) -> dict[Block, list[Share]]:
        """Of all blocks of a GPU, in the order of their births."""
        blocks = list(blocks)
        known = self._notes_of(blocks)
        return {block: self._shares_of(block, known.get(block, [])) for block in blocks}

    def _shares_of(self, block: Block, notes: list[Note]) -> list[Share]:
        born = None if block.born < 0 else self._marks.find(block.device, block.born_time or 0, block.born_label)
        phase = "before" if block.born < 0 else self._marks.phase_at(born, block.born_time or 0) if born else "between"
        if block.died is None and (block.device, block.address) in self._known.cublas:
            return [Share(causes.CUBLAS, phase, "", block.size)]
        firm = [note for note in notes if note.cause not in _WEAK]
        if not firm:
            cause = self._by_life(block, born)
            weak = {note.cause for note in notes}
            if causes.OUTPUT in weak and cause in (causes.SAVED, causes.UNNAMED):
                cause = causes.OUTPUT
            elif cause == causes.UNNAMED and block.size in self._known.buckets:
                cause = causes.DDP_BUCKET
            elif weak and (cause == causes.UNNAMED or (cause == causes.LOSS_SAVED and self._outlives_step(block))):
                cause = causes.HELD
            module = born.module if born else notes[0].owner if notes else ""
            return [Share(cause, phase, module, block.size)]
        best = min((note.cause for note in firm), key=causes.PRIORITY.__getitem__)
        owners: dict[str, int] = {}
        for note in firm:
            if note.cause == best:
                owners[note.owner] = max(owners.get(note.owner, 0), note.nbytes)
        if len(owners) > 1:
            owners.pop("", None)
        phase = next((note.phase for note in firm if note.cause == best and note.phase), phase)
        if best == causes.PARAMETER_COPY and block.born < 0:
            best = causes.PARAMETER  # the copy on the first GPU is the program's own
        return list(_split(owners, best, phase, block.size))

    def _by_life(self, block: Block, born: Mark | None) -> str:
        """The cause of a block that nobody knows, by when it was made and how long it lived."""
        if born is None:
            return causes.UNNAMED
        if born.phase == "update":
            return causes.UPDATE_WORKSPACE  # its state was noted
        if born.phase == "backward":
            return self._in_backward(block, born)
        if born.phase in ("forward", "recompute"):
            return self._in_forward(block, born)
        if born.phase in _OUTSIDE and self._is_saved(block):
            return causes.LOSS_SAVED
        if born.phase == "loss":
            return causes.LOSS_SAVED if born.time else causes.UNNAMED
        return causes.WORKSPACE if self._died_within(block, born) else causes.UNNAMED

    def _in_backward(self, block: Block, born: Mark) -> str:
        if born.op.startswith("loss:"):
            return causes.LOSS_BACKWARD
        if not born.op:
            return causes.LOSS_BACKWARD  # what it begins with
        if born.op.endswith(BROADCAST):
            return causes.GRADIENT_SUM
        of_one = born.op != SEVERAL and self._died_within(block, born)
        return self._workspace(born) if of_one else causes.GRADIENT_OF_ACTIVATION

    def _in_forward(self, block: Block, born: Mark) -> str:
        if self._is_cast(block, born):
            return causes.PARAMETER_16_BIT
        if self._died_within(block, born):
            return self._workspace(born)
        return causes.RECOMPUTED if born.phase == "recompute" else causes.SAVED

    def _workspace(self, born: Mark) -> str:
        return causes.CUDNN if born.module in self._known.cudnn else causes.WORKSPACE

    def _is_cast(self, block: Block, born: Mark) -> bool:
        """Whether autocast keeps a parameter in 16 bit there: it has the size of one, and outlives the module."""
        sizes: Counter[int] = self._known.casts.get(born.module, Counter())
        if block.size not in sizes or self._died_within(block, born):
            return False
        self._cast[born, block.size] += 1
        return self._cast[born, block.size] <= sizes[block.size]

    def _died_within(self, block: Block, born: Mark) -> bool:
        died = self._death(block)
        if died is None:
            return False
        end = self._marks.end_of(born)
        return end is None or died <= end

    def _outlives_step(self, block: Block) -> bool:
        """Whether it is there when the step is done, unlike what the graph keeps."""
        return block.died is None and block.device not in self._ends and self._backward is not None

    def _is_saved(self, block: Block) -> bool:
        if self._backward is None or (block.born_time or 0) > self._backward:
            return False
        died = self._death(block)
        return died is None or died >= self._backward

    def _death(self, block: Block) -> int | None:
        end = self._ends.get(block.device)
        return None if block.died is None or (end is not None and block.died >= end) else block.died_time


def _split(owners: dict[str, int], cause: str, phase: str, size: int) -> Iterable[Share]:
    """A block among its owners, by their bytes; what none of them has belongs to nobody in particular."""
    left = size
    for owner, nbytes in owners.items():
        part = min(nbytes, left) if len(owners) > 1 else left
        if part:
            yield Share(cause, phase, owner, part)
        left -= part
    if left:
        yield Share(cause, phase, "", left)
