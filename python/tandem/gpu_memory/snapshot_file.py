# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Reads files of torch.cuda.memory._dump_snapshot, and tells what filled the GPUs at their peaks, by the stacks in them."""

from __future__ import annotations

import io
import pathlib
import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tandem.errors import FileError
from tandem.gpu_memory import causes
from tandem.gpu_memory.replay import Block, Replay
from tandem.gpu_memory.report import Gpu, GpuMemory, rows_of
from tandem.gpu_memory.stacks import cause_of, place_of

_FREES = ("free_requested", "free_completed")


class _PlainUnpickler(pickle.Unpickler):
    """Makes dicts, lists, numbers and strings alone; nothing of a file is called."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        raise FileError(f"memory: the file asks for {module_name}.{global_name}, which no snapshot needs; it was not executed")

    def persistent_load(self, pid: Any) -> Any:
        raise FileError("memory: the file refers to objects outside of it, which no snapshot does")


def read(path: pathlib.Path) -> GpuMemory:
    """What a snapshot says. A GPU's sums are those of its history; what is older has the stack that the snapshot has.

    @throws FileError  the file is missing, is no snapshot, or would execute code.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FileError(f"memory: cannot read {path}: {error.strerror}") from error
    try:
        snapshot = _PlainUnpickler(io.BytesIO(content)).load()
    except FileError as error:
        raise FileError(f"{error} ({path})") from None
    except Exception as error:  # pickle raises many kinds for bytes that are none
        raise FileError(f"memory: {path} is no snapshot of torch.cuda.memory._dump_snapshot: {error}") from None
    try:
        return _report(snapshot)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise FileError(f"memory: {path} is no snapshot of torch.cuda.memory._dump_snapshot: {type(error).__name__} at {error}") from None


def _report(snapshot: Mapping[str, Any]) -> GpuMemory:
    traces: Sequence[Sequence[Mapping[str, Any]]] = snapshot["device_traces"]
    devices = {segment["device"] for segment in snapshot["segments"]} | {i for i, trace in enumerate(traces) if trace}
    gpus = []
    for device in sorted(devices):
        trace = traces[device] if device < len(traces) else []
        gpus.append(_gpu(device, [s for s in snapshot["segments"] if s["device"] == device], trace))
    return GpuMemory([gpu for gpu in gpus if gpu.peak_bytes])


def _gpu(device: int, segments: Sequence[Mapping[str, Any]], trace: Sequence[Mapping[str, Any]]) -> Gpu:
    older, frames = _older(device, segments, trace)
    has_stacks = any(entry.get("frames") for entry in trace)
    replay = Replay(device, older, trace)
    peak = replay.peak
    rows: Counter[tuple[str, str, str]] = Counter()
    for block in replay.alive_at(peak.place):
        stack = trace[block.born].get("frames", ()) if block.born >= 0 else frames.get(block.address, ())
        cause, phase = cause_of(stack)
        if block.born >= 0 and has_stacks and not stack:  # threads of backward have no frames of Python
            cause, phase = causes.GRADIENT_OF_ACTIVATION, "backward"
        rows[cause, "before" if block.born < 0 else phase, place_of(stack)] += block.size
    stack = trace[peak.place].get("frames", ()) if peak.place >= 0 else ()
    at_peak = cause_of(stack)[1] if stack else "backward" if has_stacks and peak.place >= 0 else "before"
    end = sum(segment["total_size"] for segment in segments)
    reserved = end + peak.reserved - replay.moments[-1].reserved
    return Gpu(device, peak.allocated, at_peak, reserved, peak.active - peak.allocated, 0, 0,
               rows_of(rows, peak.allocated))


def _older(
    device: int, segments: Sequence[Mapping[str, Any]], trace: Sequence[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], dict[int, Any]]:
    """The blocks that were there before the history began, each as a segment, and the stacks that are known of them."""
    born: set[int] = set()
    found: dict[int, Block] = {}
    for entry in trace:
        if entry["action"] == "alloc":
            born.add(entry["addr"])
        elif entry["action"] in _FREES and entry["addr"] not in born:
            found.setdefault(entry["addr"], Block(device, entry["addr"], entry["size"], -(-entry["size"] // 512) * 512))
    frames = {}
    for segment in segments:
        address = segment["address"]
        for there in segment["blocks"]:
            address = there.get("address", address)
            if there["state"] == "active_allocated" and address not in born:
                found[address] = Block(device, address, there.get("requested_size", there["size"]), there["size"])
                frames[address] = there.get("frames", ())
            address += there["size"]
    made = {entry["addr"] for entry in trace if entry["action"] in ("segment_alloc", "segment_map")}
    older = [_at_begin(segment, found) for segment in segments if segment["address"] not in made]
    return older + [_as_segment(block) for block in found.values()], frames


def _at_begin(segment: Mapping[str, Any], found: dict[int, Block]) -> dict[str, Any]:
    """A segment as it was before the history: its blocks, which are taken out of `found`, and what is free between them."""
    end = segment["address"] + segment["total_size"]
    inside = [found.pop(address) for address in sorted(found) if segment["address"] <= address < end]
    blocks = []
    place = segment["address"]
    for block in inside:
        blocks += [_free(place, block.address - place), _as_block(block)]
        place = block.address + block.taken
    blocks.append(_free(place, end - place))
    return {**segment, "blocks": [block for block in blocks if block["size"] > 0]}


def _free(address: int, size: int) -> dict[str, Any]:
    return {"address": address, "size": size, "state": "inactive"}


def _as_block(block: Block) -> dict[str, Any]:
    return {"address": block.address, "size": block.taken, "requested_size": block.size, "state": "active_allocated"}


def _as_segment(block: Block) -> dict[str, Any]:
    return {"device": block.device, "address": block.address, "total_size": block.taken, "segment_type": "large", "blocks": [_as_block(block)]}
