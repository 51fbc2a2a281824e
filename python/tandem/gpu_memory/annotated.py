# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A snapshot for PyTorch's memory_viz, in which each block's first frame is its cause."""

from __future__ import annotations

import pathlib
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

from tandem.errors import FileError
from tandem.gpu_memory.attribution import Share
from tandem.gpu_memory.replay import Block


def annotate(snapshot: Mapping[str, Any], shares: Mapping[Block, Sequence[Share]]) -> dict[str, Any]:
    """A copy of the snapshot; pytorch.org/memory_viz shows the frames of a block that is pointed at."""
    born = {(block.device, block.born): block for block in shares if block.born >= 0}
    alive = {(block.device, block.address): block for block in shares if block.died is None}
    traces = [[_with_frame(entry, shares, born.get((device, place)) if entry["action"] == "alloc" else None)
               for place, entry in enumerate(trace)] for device, trace in enumerate(snapshot["device_traces"])]
    segments = [{**segment, "blocks": [_with_frame(block, shares, alive.get((segment["device"], block.get("address", 0))))
                                       for block in segment["blocks"]]} for segment in snapshot["segments"]]
    return {**snapshot, "segments": segments, "device_traces": traces}


def dump(snapshot: Mapping[str, Any], path: pathlib.Path) -> None:
    try:
        path.write_bytes(pickle.dumps(snapshot))
    except OSError as error:
        raise FileError(f"memory: cannot write {path}: {error.strerror}") from error


def _with_frame(entry: Mapping[str, Any], shares: Mapping[Block, Sequence[Share]], block: Block | None) -> dict[str, Any]:
    if block is None:
        return dict(entry)
    largest = max(shares[block], key=lambda share: share.nbytes)
    frame = {"filename": "tandem", "line": 0, "name": f"{largest.cause}{f' of {largest.module}' if largest.module else ''}, {largest.phase}"}
    return {**entry, "frames": [frame, *entry.get("frames", [])]}
