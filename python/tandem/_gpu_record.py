# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What a step does on PyTorch's GPUs, and what it holds there, as tandem records it."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.nn.parallel import comm

from tandem import _core
from tandem._with_torch import _torch
from tandem.gpu_memory import Gpu, measure
from tandem.gpu_memory.causes import by_category

_PHASES = {"recompute": "backward"}  # by those of tandem; what tandem has no phase for is in none


def observed(step: Callable[[], Any]) -> Callable[[], None]:
    """The step, so that observers are told of PyTorch's work on GPUs. It may be the first that uses them."""
    _torch.use_gpus()

    def observed_step() -> None:
        with _told_transfers():
            _torch.with_gpu_ops(step)

    return observed_step


def record(step: Callable[[], Any], names: Sequence[str]) -> _core.Recording:
    """Two steps on the GPUs of these names: one for work and traffic, and one for memory by cause, whose record costs time."""
    recording = _core.record(observed(step))
    held = {gpu.name: gpu for gpu in measure(step).gpus}
    recording.set_memory(json.dumps([_told(name, held.get(name)) for name in names]))
    return recording


def _told(name: str, gpu: Gpu | None) -> dict[str, Any]:
    if gpu is None:
        return {"name": name, "peak_bytes": 0, "peak_us": 0, "peak_phase": "none", "held": [], "line": []}
    peak = max(gpu.line, key=lambda at: sum(at.by_cause.values()), default=None)
    held: Counter[tuple[str, str, str]] = Counter()
    for row in gpu.rows:
        (category,) = by_category({row.cause: row.nbytes})
        held[category, _PHASES.get(row.phase, row.phase), row.module] += row.nbytes
    return {
        "name": name,
        "peak_bytes": gpu.peak_bytes,
        "peak_us": peak.microseconds if peak else 0,
        "peak_phase": _PHASES.get(gpu.phase, gpu.phase),
        "held": [{"category": category, "phase": phase, "module": module, "bytes": nbytes}
                 for (category, phase, module), nbytes in held.most_common()],
        "line": [{"us": at.microseconds, "by_category": by_category(at.by_cause)} for at in gpu.line],
    }


def _index(device: int | torch.device) -> int:
    return device if isinstance(device, int) else device.index


def _nbytes(tensors: Sequence[torch.Tensor]) -> int:
    return sum(x.nbytes for x in tensors)


@contextlib.contextmanager
def _told_transfers() -> Iterator[None]:
    """Until the end of the block observers are told what torch.nn.DataParallel sends by NCCL, which is none of PyTorch's ops."""
    broadcast: Callable[..., Any] = comm.broadcast_coalesced
    reduce: Callable[..., Any] = comm.reduce_add_coalesced

    def told_broadcast(tensors: Sequence[torch.Tensor], devices: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        first, *others = [_index(device) for device in devices]
        sent = [(first, other, _nbytes(tensors)) for other in others]
        return _torch.with_transfers(sent, False, lambda: broadcast(tensors, devices, *args, **kwargs))

    def told_reduce(inputs: Sequence[Sequence[torch.Tensor]], destination: int | None = None, *args: Any, **kwargs: Any) -> Any:
        to = torch.cuda.current_device() if destination is None else _index(destination)
        sent = [(own[0].get_device(), to, _nbytes(own)) for own in inputs if own and own[0].get_device() != to]
        return _torch.with_transfers(sent, True, lambda: reduce(inputs, destination, *args, **kwargs))

    comm.broadcast_coalesced, comm.reduce_add_coalesced = told_broadcast, told_reduce
    try:
        yield
    finally:
        comm.broadcast_coalesced, comm.reduce_add_coalesced = broadcast, reduce
