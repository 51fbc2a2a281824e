# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Replays the allocator's history of one GPU: which block lay where, from when to when, and what the allocator took for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_STEP = 512  # the allocator's granularity
_SMALL_SEGMENT = 2 << 20
_NOT_SPLIT = 1 << 20  # what is left of a large segment is not split off, if it is not more than this


@dataclass(eq=False)
class Block:
    """Memory that was asked for at once. `born` and `died` are places in the history (-1: before it); None: alive at its end."""

    device: int
    address: int
    size: int  # that was asked for
    taken: int  # by the allocator
    born: int = -1
    born_time: int | None = None
    born_label: str = ""
    died: int | None = None
    died_time: int | None = None
    died_label: str = ""

    def alive_at(self, place: int) -> bool:
        return self.born <= place and (self.died is None or self.died > place)


class _Free:
    """The free ranges of a GPU. A fine range is split to the granularity; ranges of different segments are not joined."""

    def __init__(self) -> None:
        self._ranges: dict[int, tuple[int, bool]] = {}  # by address: size, and whether it is fine
        self._starts: dict[int, int] = {}  # by where a range ends
        self._borders: set[int] = set()

    def add_borders(self, address: int, size: int) -> None:
        self._borders |= {address, address + size}

    def give(self, address: int, size: int, fine: bool) -> None:
        before = self._starts.pop(address, None) if address not in self._borders else None
        if before is not None:
            size += self._ranges.pop(before)[0]
            address = before
        end = address + size
        if end not in self._borders and end in self._ranges:
            size += self._ranges.pop(end)[0]
        self._put(address, size, fine)

    def take(self, address: int, size: int) -> tuple[int, bool]:
        """What the allocator takes for `size` bytes at `address`, and whether the range is fine."""
        rounded = max(_STEP, -(-size // _STEP) * _STEP)
        if address not in self._ranges:
            return rounded, False
        there, fine = self._ranges.pop(address)
        self._starts.pop(address + there, None)
        left = there - rounded
        if left < 0:  # only where the history began after the segments
            return rounded, fine
        if left < (_STEP if fine else _NOT_SPLIT + 1):
            return there, fine
        self._put(address + rounded, left, fine)
        return rounded, fine

    def remove(self, address: int, size: int) -> None:
        if address in self._ranges:
            there, fine = self._ranges.pop(address)
            self._starts.pop(address + there, None)
            if there > size:
                self._put(address + size, there - size, fine)

    def _put(self, address: int, size: int, fine: bool) -> None:
        self._ranges[address] = (size, fine)
        self._starts[address + size] = address


@dataclass
class Moment:
    """What a GPU has just after an entry of its history."""

    place: int
    time: int | None
    allocated: int
    reserved: int
    active: int


class Replay:
    """A GPU's blocks, and the moments of its history."""

    def __init__(self, device: int, segments: Sequence[Mapping[str, Any]], trace: Sequence[Mapping[str, Any]]) -> None:
        self.device = device
        self.blocks: list[Block] = []
        self.moments: list[Moment] = []
        self.failures: list[tuple[int, Mapping[str, Any]]] = []  # allocations that failed: place and entry
        self._free = _Free()
        self._alive: dict[int, tuple[Block, bool]] = {}  # by address, with whether its range is fine
        self._allocated = self._reserved = self._active = 0
        for segment in segments:
            if segment["device"] == device:
                self._add(segment)
        self.moments.append(Moment(-1, None, self._allocated, self._reserved, self._active))
        for place, entry in enumerate(trace):
            self._play(place, entry)
            self.moments.append(Moment(place, entry.get("time_us"), self._allocated, self._reserved, self._active))

    @property
    def peak(self) -> Moment:
        return max(self.moments, key=lambda m: m.allocated)

    def alive_at(self, place: int) -> list[Block]:
        return [block for block in self.blocks if block.alive_at(place)]

    def _add(self, segment: Mapping[str, Any]) -> None:
        fine = segment["segment_type"] == "small" or bool(segment.get("is_expandable"))
        self._reserved += segment["total_size"]
        address = segment["address"]
        self._free.add_borders(address, segment["total_size"])
        for there in segment["blocks"]:
            size = there["size"]
            if there["state"] == "inactive":
                self._free.give(address, size, fine)
            else:
                block = Block(self.device, address, there.get("requested_size", size), size)
                self._alive[address] = (block, fine)
                self._active += size
                if there["state"] == "active_allocated":
                    self.blocks.append(block)
                    self._allocated += size
                else:
                    block.died = -1
            address += size

    def _play(self, place: int, entry: Mapping[str, Any]) -> None:
        action, address, size = entry["action"], entry.get("addr", 0), entry.get("size", 0)
        if action in ("segment_alloc", "segment_map"):
            self._reserved += size
            if action == "segment_alloc":
                self._free.add_borders(address, size)
            self._free.give(address, size, action == "segment_map" or size == _SMALL_SEGMENT)
        elif action in ("segment_free", "segment_unmap"):
            self._reserved -= size
            self._free.remove(address, size)
        elif action == "alloc":
            self._allocate(place, address, size, entry)
        elif action == "free_requested" and address in self._alive:
            self._end(self._alive[address][0], place, entry)
        elif action == "free_completed" and address in self._alive:
            block, fine = self._alive.pop(address)
            self._end(block, place, entry)
            self._active -= block.taken
            self._free.give(address, block.taken, fine)
        elif action == "oom":
            self.failures.append((place, entry))

    def _allocate(self, place: int, address: int, size: int, entry: Mapping[str, Any]) -> None:
        taken, fine = self._free.take(address, size)
        block = Block(self.device, address, size, taken, place, entry.get("time_us"), entry.get("user_metadata", ""))
        self._alive[address] = (block, fine)
        self.blocks.append(block)
        self._allocated += taken
        self._active += taken

    def _end(self, block: Block, place: int, entry: Mapping[str, Any]) -> None:
        if block.died is None:
            block.died, block.died_time, block.died_label = place, entry.get("time_us"), entry.get("user_metadata", "")
            self._allocated -= block.taken
