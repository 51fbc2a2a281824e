# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""How a program's peaks grow with its batch, and the largest batch that fits: lines through a few measured steps."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tandem.errors import InvalidArgument
from tandem.gpu_memory.report import GpuMemory
from tandem.gpu_memory.text import size


@dataclass(frozen=True)
class Line:
    """A GPU's peak: `fixed` bytes, and `per_row` more for each row of the batch. `limit` is what the GPU has for PyTorch."""

    gpu: int
    fixed: float
    per_row: float
    limit: int

    def at(self, rows: int) -> int:
        return round(self.fixed + self.per_row * rows)


@dataclass(frozen=True)
class BatchModel:
    """The peaks of a program's step by the rows of its batch. A peak is the largest of several moments, each with a line of its own:
    so the lines go through the two largest batches, and are best near them."""

    lines: list[Line]
    measured: dict[int, GpuMemory]

    def predict(self, rows: int) -> dict[str, int]:
        """The peak of each GPU in bytes."""
        return {f"cuda:{line.gpu}": line.at(rows) for line in self.lines}

    def largest_batch(self, limits: dict[str, int] | None = None) -> int | None:
        """The most rows that fit the GPUs' memory, or `limits` in bytes by name; None: no GPU's peak grows. What the allocator
        loses by fragments comes on top: leave it a tenth, if in doubt."""
        found = []
        for line in self.lines:
            limit = (limits or {}).get(f"cuda:{line.gpu}", line.limit)
            if line.per_row > 0:
                found.append(math.floor((limit - line.fixed) / line.per_row))
            elif line.fixed > limit:
                return 0
        return max(min(found), 0) if found else None

    def text(self) -> str:
        """A row for each GPU: its measured peaks, what a row more takes, and what there is."""
        heads = ["", *(f"{rows} rows" for rows in sorted(self.measured)), "a row more", "of"]
        table = [heads]
        for line in self.lines:
            peaks = [_peak(self.measured[rows], line.gpu) for rows in sorted(self.measured)]
            table.append([f"cuda:{line.gpu}", *(size(n) for n in [*peaks, round(line.per_row), line.limit])])
        widths = [max(map(len, column)) for column in zip(*table)]
        return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in table)

    def json(self) -> str:
        """One JSON object, with a schema_version."""
        devices = [
            {"name": f"cuda:{line.gpu}", "fixed_bytes": round(line.fixed), "bytes_per_row": line.per_row, "limit_bytes": line.limit}
            for line in self.lines
        ]
        told = {"schema_version": 1, "largest_batch": self.largest_batch(), "measured_rows": sorted(self.measured), "devices": devices}
        return json.dumps(told, indent=2)


def _peak(memory: GpuMemory, gpu: int) -> int:
    return next((found.peak_bytes for found in memory.gpus if found.index == gpu), 0)


def check_rows(rows: Sequence[int]) -> list[int]:
    """The different ones, the smallest first.

    @throws InvalidArgument  there are fewer than two numbers, or one below 1.
    """
    sizes = sorted(set(rows))
    if len(sizes) < 2 or sizes[0] < 1:
        raise InvalidArgument(f"fit: rows {list(rows)}: expected two or more different numbers from 1 on, such as [8, 16]")
    return sizes


def model_of(measured: dict[int, GpuMemory]) -> BatchModel:
    """The lines through the two largest batches of `measured`, by rows."""
    few, many = sorted(measured)[-2:]
    lines = []
    for gpu in measured[many].gpus:
        per_row = (gpu.peak_bytes - _peak(measured[few], gpu.index)) / (many - few)
        lines.append(Line(gpu.index, gpu.peak_bytes - per_row * many, per_row, gpu.total_bytes - gpu.outside_bytes))
    return BatchModel(lines, measured)


def fit(step: Callable[[int], object], rows: Sequence[int]) -> BatchModel:
    """Calls step(n) for each n of `rows`, twice, and fits the peaks of the second call.

    @param step  makes a batch of n rows, and a step of the training with it.
    @param rows  two or more different numbers; multiples of the number of GPUs are best, as others are cut unevenly.
    @throws InvalidArgument  there are fewer than two numbers, or one below 1.
    """
    sizes = check_rows(rows)
    from tandem.gpu_memory.recorder import measure  # needs PyTorch, unlike the lines

    measured = {}
    for n in sizes:
        step(n)
        measured[n] = measure(lambda n=n: step(n))  # type: ignore[misc]
    return model_of(measured)
