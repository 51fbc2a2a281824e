# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Makes a report of a recording."""

from __future__ import annotations

import bisect
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tandem.gpu_memory import causes
from tandem.gpu_memory.attribution import Attribution, KnownSizes, Share
from tandem.gpu_memory.marks import Marks
from tandem.gpu_memory.module_paths import block_of
from tandem.gpu_memory.notes import Notes
from tandem.gpu_memory.outside import Driver
from tandem.gpu_memory.replay import Block, Moment, Replay
from tandem.gpu_memory.report import Failure, Gpu, GpuMemory, Instant, rows_of

_UNKNOWN = Driver(0, 0)
_INSTANTS = 150  # of the line through the step


@dataclass(frozen=True)
class Recording:
    """What a recorder has seen, and what was asked when it ended."""

    segments: Sequence[Mapping[str, Any]]  # when it began
    snapshot: Mapping[str, Any]  # when it ended
    marks: Marks
    notes: Notes
    cast_sizes: dict[str, Counter[int]]
    bucket_sizes: set[int]
    block_inputs: dict[tuple[int, str], int]
    rows: int
    cublas: set[tuple[int, int]]
    cudnn: set[str]
    driver: dict[int, Driver]
    out_of_memory: bool


def build(recording: Recording) -> GpuMemory:
    """The report of GPUs that held anything, at their peaks; if memory ran out: when the last allocation failed."""
    replays, attribution, failure, ends = _attributed(recording)
    gpus = [_gpu(replay, attribution, recording, ends.get(replay.device)) for replay in replays if replay.peak.allocated]
    return GpuMemory(gpus, failure, recording.rows)


def shares_of(recording: Recording) -> dict[Block, list[Share]]:
    """The shares of all blocks."""
    replays, attribution, _, _ = _attributed(recording)
    return {block: shares for replay in replays for block, shares in attribution.shares(replay.blocks).items()}


def _attributed(recording: Recording) -> tuple[list[Replay], Attribution, Failure | None, dict[int, int]]:
    traces = recording.snapshot["device_traces"]
    replays = [Replay(device, recording.segments, trace) for device, trace in enumerate(traces)]
    failure, ends = _failure(replays) if recording.out_of_memory else (None, {})
    sizes = KnownSizes(recording.cast_sizes, recording.bucket_sizes, recording.cublas, recording.cudnn)
    return replays, Attribution(recording.marks, recording.notes, sizes, ends), failure, ends


def _failure(replays: Sequence[Replay]) -> tuple[Failure | None, dict[int, int]]:
    """The allocation that failed last, and the place of that moment in the history of each GPU."""
    failed = [(replay, place, entry) for replay in replays for place, entry in replay.failures[-1:]]
    if not failed:
        return None, {}
    replay, place, entry = max(failed, key=lambda f: f[2].get("time_us", 0))
    when = entry.get("time_us", 0)
    ends = {r.device: bisect.bisect_right([m.time or 0 for m in r.moments], when) - 1 for r in replays}
    ends[replay.device] = place
    return Failure(replay.device, entry["size"], entry.get("device_free", 0)), ends


def _gpu(replay: Replay, attribution: Attribution, recording: Recording, failed: int | None) -> Gpu:
    marks = recording.marks
    shares = attribution.shares(replay.blocks)
    peak = replay.peak if failed is None else replay.moments[min(failed + 1, len(replay.moments) - 1)]
    alive = replay.alive_at(peak.place)
    rows: Counter[tuple[str, str, str]] = Counter()
    for block in alive:
        for share in shares[block]:
            rows[share.cause, share.phase, share.module] += share.nbytes
    mark = marks.find(replay.device, peak.time, _label(replay, peak)) if peak.time is not None else None
    return Gpu(
        index=replay.device,
        peak_bytes=peak.allocated,
        phase=marks.phase_at(mark, peak.time or 0) if mark else "before",
        reserved_bytes=peak.reserved,
        waiting_bytes=peak.active - peak.allocated,
        total_bytes=recording.driver.get(replay.device, _UNKNOWN).total,
        outside_bytes=recording.driver.get(replay.device, _UNKNOWN).outside,
        own_outside=dict(recording.driver.get(replay.device, _UNKNOWN).own),
        other_processes=dict(recording.driver.get(replay.device, _UNKNOWN).processes),
        rows=rows_of(rows, peak.allocated),
        line=_line(replay, shares),
        recomputable_bytes=_recomputable(replay.device, rows, recording.block_inputs),
    )


def _recomputable(device: int, rows: Mapping[tuple[str, str, str], int], inputs: Mapping[tuple[int, str], int]) -> int:
    """What goes if each repeated block keeps its inputs alone: one after the other is there again in backward."""
    saved: Counter[str] = Counter()
    for (cause, _, module), nbytes in rows.items():
        block = block_of(module)
        if cause == causes.SAVED and block:
            saved[block] += nbytes
    if len(saved) < 2:
        return 0
    again = [max(nbytes - inputs.get((device, block), 0), 0) for block, nbytes in saved.items()]
    return sum(again) - max(again)


def _label(replay: Replay, moment: Moment) -> str:
    return next((block.born_label for block in replay.blocks if block.born == moment.place), "")


def _line(replay: Replay, shares: Mapping[Block, list[Share]]) -> list[Instant]:
    """The bytes by cause through the recording, at some of its moments; the peak is among them."""
    changes: dict[int, Counter[str]] = defaultdict(Counter)
    for block, parts in shares.items():
        for share in parts:
            changes[block.born][share.cause] += share.nbytes
            if block.died is not None:
                changes[block.died][share.cause] -= share.nbytes
    peak = replay.peak.place
    every = max(len(replay.moments) // _INSTANTS, 1)
    begin = next((m.time for m in replay.moments if m.time is not None), 0)
    now: Counter[str] = Counter()
    line = []
    for number, moment in enumerate(replay.moments):
        now.update(changes.get(moment.place, {}))
        if number % every == 0 or moment.place == peak:
            since = (moment.time or begin) - begin
            line.append(Instant(since, {cause: nbytes for cause, nbytes in now.items() if nbytes}))
    return line
