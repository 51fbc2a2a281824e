# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a trace of torch.profiler, and tells what filled each GPU at its peak and what went over which link, as far as the trace knows."""

from __future__ import annotations

import bisect
import gzip
import json
import pathlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tandem.errors import FileError
from tandem.gpu_memory import causes
from tandem.gpu_memory.links import Link, links_of
from tandem.gpu_memory.report import Gpu, GpuMemory, rows_of

_GPU = 1  # "Device Type" of memory that is a GPU's
_BACKWARD = "autograd::engine::evaluate_function: "
# What the name of an op around an allocation says; the first that is found counts.
_SIGNS = (
    ("Optimizer.step", causes.UPDATE_WORKSPACE, "update"),
    (f"{_BACKWARD}torch::autograd::AccumulateGrad", causes.GRADIENT, "backward"),
    (f"{_BACKWARD}BroadcastBackward", causes.GRADIENT_SUM, "backward"),
    (f"{_BACKWARD}GatherBackward", causes.GRADIENT_OF_OUTPUT, "backward"),
    (f"{_BACKWARD}NllLoss", causes.LOSS_BACKWARD, "backward"),
    (f"{_BACKWARD}LogSoftmax", causes.LOSS_BACKWARD, "backward"),
    (_BACKWARD, causes.GRADIENT_OF_ACTIVATION, "backward"),
    ("Broadcast", causes.PARAMETER_COPY, "replicate"),
    ("Scatter", causes.INPUT, "scatter"),
    ("Gather", causes.GATHERED_OUTPUT, "gather"),
    ("aten::cross_entropy_loss", causes.LOSS_SAVED, "loss"),
    ("DataParallel.forward", causes.SAVED, "forward"),
    ("DistributedDataParallel.forward", causes.SAVED, "forward"),
)


@dataclass(frozen=True)
class Trace:
    """What a trace tells, and in sentences what it does not."""

    memory: GpuMemory
    links: list[Link]
    unknown: list[str]

    def text(self) -> str:
        parts = [self.memory.text()] if self.memory.gpus else []
        if self.links:
            parts.append("\n".join(["what went over which link:", *(f"  {link}" for link in self.links)]))
        return "\n\n".join([*parts, *(f"not known: {sentence}" for sentence in self.unknown)])

    def as_dict(self) -> dict[str, Any]:
        return {"schema_version": 1, "memory": self.memory.as_dict(), "links": [link._asdict() for link in self.links], "unknown": self.unknown}


def read_trace(path: pathlib.Path) -> Trace:
    """What a file of torch.profiler's export_chrome_trace says; it may be packed by gzip.

    @throws FileError  the file is missing, or is no such trace.
    """
    try:
        content = path.read_bytes()
        trace = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
        return _told(trace["traceEvents"])
    except OSError as error:
        raise FileError(f"explain: cannot read {path}: {error.strerror or error}") from error
    except (ValueError, EOFError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(f"explain: {path} is no trace of torch.profiler's export_chrome_trace: {type(error).__name__}: {error}") from None


def _told(events: Sequence[Mapping[str, Any]]) -> Trace:
    memory = [event for event in events if event.get("name") == "[memory]" and event["args"]["Device Type"] == _GPU]
    links = links_of(events)
    unknown = []
    if memory:
        unknown.append("the causes of what was there before the trace began, or was made by a thread that it does not see (unnamed), "
                       "and all modules; tandem memory PROGRAM.py tells them")
    else:
        unknown.append("memory: the trace has no allocation on a GPU; record it by torch.profiler.profile(profile_memory=True)")
    if not any(str(event.get("cat", "")).startswith(("kernel", "gpu_")) for event in events):
        unknown.append("copies and collectives: the trace has no work of a GPU; record it with ProfilerActivity.CUDA")
    elif any(link.source is None for link in links):
        unknown.append("which GPUs a collective's bytes went between; the trace has its time on each GPU alone")
    return Trace(GpuMemory(_gpus(memory, _Ops(events))), links, unknown)


class _Op(NamedTuple):
    begin: float
    end: float
    name: str


class _Ops:
    """The ops of each thread, to be asked for those around a moment."""

    def __init__(self, events: Iterable[Mapping[str, Any]]) -> None:
        self._lines: dict[Any, list[_Op]] = defaultdict(list)
        for event in events:
            if event.get("ph") == "X" and event.get("cat") in ("cpu_op", "user_annotation"):
                self._lines[event["tid"]].append(_Op(event["ts"], event["ts"] + event.get("dur", 0), event["name"]))
        self._around: dict[Any, list[tuple[float, tuple[str, ...]]]] = {tid: _moments(line) for tid, line in self._lines.items()}
        self.backward = min((op.begin for line in self._lines.values() for op in line if op.name.startswith(_BACKWARD)), default=None)

    def around(self, tid: Any, when: float) -> tuple[str, ...]:
        """Names from the outermost in."""
        moments = self._around.get(tid, [])
        place = bisect.bisect_right(moments, when, key=lambda moment: moment[0])
        return moments[place - 1][1] if place else ()


def _moments(line: list[_Op]) -> list[tuple[float, tuple[str, ...]]]:
    """What is open from each moment on, in the order of time."""
    found: list[tuple[float, tuple[str, ...]]] = []
    opened: list[_Op] = []

    def close(until: float) -> None:
        while opened and opened[-1].end <= until:
            end = opened.pop().end
            found.append((end, tuple(op.name for op in opened)))

    for op in sorted(line, key=lambda op: (op.begin, -op.end)):
        close(op.begin)
        opened.append(op)
        found.append((op.begin, tuple(op.name for op in opened)))
    close(float("inf"))
    return found


def _gpus(memory: Sequence[Mapping[str, Any]], ops: _Ops) -> list[Gpu]:
    by_gpu: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for event in sorted(memory, key=lambda event: event["ts"]):
        by_gpu[event["args"]["Device Id"]].append(event)
    return [_gpu(index, events, ops) for index, events in sorted(by_gpu.items())]


def _gpu(index: int, events: Sequence[Mapping[str, Any]], ops: _Ops) -> Gpu:
    peak = max(events, key=lambda event: event["args"]["Total Allocated"])
    alive: dict[int, Mapping[str, Any]] = {}
    deaths: dict[int, float] = {}  # by the place of the allocation's event
    at_peak: list[Mapping[str, Any]] = []
    for event in events:
        address = event["args"]["Addr"]
        if event["args"]["Bytes"] > 0:
            alive[address] = event
        elif address in alive:
            deaths[id(alive.pop(address))] = event["ts"]
        if event is peak:
            at_peak = list(alive.values())
    rows: Counter[tuple[str, str, str]] = Counter()
    for event in at_peak:
        cause, phase = _cause(event, ops, deaths.get(id(event)))
        rows[cause, phase, ""] += event["args"]["Bytes"]
    total = peak["args"]["Total Allocated"]
    rows[causes.UNNAMED, "before", ""] += total - sum(rows.values())
    told = Counter({key: nbytes for key, nbytes in rows.items() if nbytes})
    phase = _cause(peak, ops, None)[1]
    return Gpu(index, total, phase, peak["args"].get("Total Reserved", total), 0, 0, 0, rows_of(told, total))


def _cause(event: Mapping[str, Any], ops: _Ops, died: float | None) -> tuple[str, str]:
    names = ops.around(event["tid"], event["ts"])
    for sign, cause, phase in _SIGNS:
        if any(name.startswith(sign) for name in names):
            if cause == causes.UPDATE_WORKSPACE and died is None:
                cause = causes.OPTIMIZER_STATE
            return cause, phase
    before = ops.backward is not None and event["ts"] < ops.backward
    if before and (died is None or died > ops.backward):  # type: ignore[operator]
        return causes.SAVED, "forward"
    return causes.UNNAMED, "between"
