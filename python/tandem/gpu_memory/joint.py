# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""One table for all processes of a job: a column for each GPU of each process, and a row for each cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tandem.gpu_memory.ranks import Part
from tandem.gpu_memory.text import size

_ROWS = 12


def joint_table(parts: Sequence[Part]) -> str:
    columns = [(part.rank, gpu) for part in parts for gpu in part.report.gpus]
    sums: Counter[str] = Counter()
    for _, gpu in columns:
        sums.update(gpu.by_cause)
    rows = [
        ("", [f"rank {rank}, {gpu.name}" for rank, gpu in columns]),
        ("peak", [size(gpu.peak_bytes) for _, gpu in columns]),
        *((f"  {cause}", [size(gpu.by_cause.get(cause, 0)) for _, gpu in columns]) for cause, _ in sums.most_common(_ROWS)),
        ("kept, unused", [size(gpu.unused_bytes) for _, gpu in columns]),
        ("outside of PyTorch", [size(gpu.outside_bytes) for _, gpu in columns]),
    ]
    width = max(len(cell) for _, cells in rows for cell in cells) if columns else 0
    return "\n".join(f"{name:<26}" + "".join(f"  {cell:>{width}}" for cell in cells) for name, cells in rows)
