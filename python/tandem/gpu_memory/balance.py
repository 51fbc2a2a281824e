# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""How many rows the first GPU should get, so that no GPU of a torch.nn.DataParallel is fuller than the others."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.gpu_memory import causes
from tandem.gpu_memory.report import Gpu, GpuMemory

_OF_ROWS = (causes.SAVED, causes.RECOMPUTED, causes.GRADIENT_OF_ACTIVATION, causes.CUDNN, causes.WORKSPACE)


@dataclass(frozen=True)
class Balance:
    """A cut of the batch, and what it comes to: lines through the measured peaks, so it is best near them."""

    gpu0_bsz: int  # rows of the first GPU
    rows: int  # of the batch
    first_peak: int  # bytes
    other_peak: int
    largest_batch: int | None  # with so many rows on the first GPU; None: nothing bounds it, or the GPUs' memory is not known


def balance(report: GpuMemory) -> Balance | None:
    """The cut that evens the peaks out; None: the batch was not cut by rows, or its rows are not known."""
    if len(report.gpus) < 2 or not report.rows or not any(cause in gpu.by_cause for gpu in report.gpus[1:] for cause in causes.OF_REPLICAS):
        return None
    first, other = report.gpus[0], max(report.gpus[1:], key=lambda gpu: gpu.peak_bytes)
    others = len(report.gpus) - 1
    share = -(-report.rows // len(report.gpus))
    of_first, of_other = (_bytes(gpu, _OF_ROWS) / share for gpu in (first, other))
    slope = of_first + of_other / others  # how much nearer the peaks come by a row that moves
    if slope <= 0:
        return None
    moved = min(max(round((first.peak_bytes - other.peak_bytes) / slope), share - report.rows), share)
    rows = share - moved
    first_peak = first.peak_bytes - of_first * moved
    other_peak = other.peak_bytes + of_other * moved / others
    of_batch = _bytes(first, causes.OF_THE_LOSS) / report.rows
    bounds = [
        report.rows + (_limit(first) - first_peak) / of_batch if of_batch and first.total_bytes else None,
        report.rows + others * (_limit(other) - other_peak) / of_other if of_other and other.total_bytes else None,
    ]
    known = [int(bound) for bound in bounds if bound is not None]
    return Balance(rows, report.rows, int(first_peak), int(other_peak), min(known, default=None))


def _bytes(gpu: Gpu, of: tuple[str, ...]) -> int:
    return sum(gpu.by_cause.get(cause, 0) for cause in of)


def _limit(gpu: Gpu) -> int:
    return gpu.total_bytes - gpu.outside_bytes
