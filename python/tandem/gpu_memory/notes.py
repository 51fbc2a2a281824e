# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What is known to lie where: the causes and owners of tensors, seen while a step runs."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import torch

from tandem.gpu_memory.marks import now
from tandem.gpu_memory.replay import Block

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_NEAR = 200  # microseconds that two clocks may be apart


class Note(NamedTuple):
    """At `time` a tensor of `nbytes` bytes lay in a storage, for this cause, and belonged to `owner`. `phase` is known of tandem's own."""

    time: int
    cause: str
    owner: str
    nbytes: int
    phase: str = ""


class Notes:
    """Notes by GPU and storage. Safe to call from several threads: an append to a list is one step of the interpreter."""

    def __init__(self) -> None:
        self._notes: dict[tuple[int, int], list[Note]] = defaultdict(list)

    def add(self, what: Any, cause: str, owner: str = "") -> None:
        """Notes the tensors in `what`, which may be a tensor, or tensors in lists, tuples, dicts and data classes."""
        when = now()
        for x in (what,) if isinstance(what, torch.Tensor) else tensors_in(what):
            key = _place(x)
            if key is not None:
                self._notes[key].append(Note(when, cause, owner, x.nbytes))

    def add_block(self, gpu: int, address: int, when: int, cause: str, owner: str, nbytes: int, phase: str) -> None:
        """Notes what another allocator's log says."""
        self._notes[gpu, address].append(Note(when, cause, owner, nbytes, phase))

    def of_blocks(self, blocks: Iterable[Block]) -> dict[Block, list[Note]]:
        """The notes of each block: a place may have had several blocks one after the other."""
        there: dict[tuple[int, int], list[Block]] = defaultdict(list)
        for b in blocks:
            there[b.device, b.address].append(b)
        found: dict[Block, list[Note]] = {}
        for key, notes in self._notes.items():
            lives = there.get(key)
            if not lives:
                continue
            births = [block.born_time or 0 for block in lives]
            for note in notes:
                block = _alive(lives, births, note.time)
                if block is not None:
                    found.setdefault(block, []).append(note)
        return found


def _alive(lives: list[Block], births: list[int], when: int) -> Block | None:
    block = lives[max(bisect.bisect_right(births, when + _NEAR) - 1, 0)]
    if block.born_time is not None and block.born_time > when and len(lives) > 1:
        before = lives[max(lives.index(block) - 1, 0)]  # a near birth counts, if nothing was there at that time
        if before.died_time is None or before.died_time >= when:
            block = before
    if block.born_time is not None and block.born_time > when + _NEAR:
        return None
    return None if block.died_time is not None and block.died_time < when - _NEAR else block


def tensors_in(what: Any, depth: int = 0) -> Iterable[torch.Tensor]:
    """The tensors in lists, tuples, dicts and data classes, as far in as outputs of models go."""
    if isinstance(what, torch.Tensor):
        yield what
    elif depth > 4:
        return
    elif isinstance(what, (list, tuple)):
        for x in what:
            yield from tensors_in(x, depth + 1)
    elif isinstance(what, Mapping):
        for x in what.values():
            yield from tensors_in(x, depth + 1)
    elif hasattr(what, "__dataclass_fields__"):
        for name in what.__dataclass_fields__:
            yield from tensors_in(getattr(what, name, None), depth + 1)


def _place(x: torch.Tensor) -> tuple[int, int] | None:
    """The GPU and the address of a tensor's storage; None: it has none there."""
    if type(x) not in _PLAIN:
        local = getattr(x, "_local_tensor", None)  # of a DTensor, as FSDP2 has them
        x = local if isinstance(local, torch.Tensor) else x
    if not x.is_cuda or x.layout != torch.strided:
        return None
    try:
        address = x.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):  # a tensor without storage, such as a fake one
        return None
    return (x.device.index, address) if address else None
