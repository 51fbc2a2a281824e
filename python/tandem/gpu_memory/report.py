# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What filled each GPU, as data."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tandem.gpu_memory import causes

if TYPE_CHECKING:
    from tandem.gpu_memory.advice import Remedy

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Row:
    """Bytes at the peak of a GPU, for one cause, made in one phase for one module."""

    cause: str
    phase: str
    module: str
    nbytes: int


def rows_of(sums: Counter[tuple[str, str, str]], allocated: int) -> list[Row]:
    """Bytes by cause, phase and module as rows, with what the allocator has rounded up to."""
    whole = Counter(sums)
    rounding = allocated - sum(sums.values())
    if rounding:
        whole[causes.ROUNDING, "", ""] += rounding
    return [Row(*key, nbytes) for key, nbytes in whole.most_common()]


@dataclass(frozen=True)
class Instant:
    """The bytes by cause, so many microseconds after the recording began."""

    microseconds: int
    by_cause: dict[str, int]


@dataclass(frozen=True)
class Failure:
    """The allocation that failed last: how many bytes, on which GPU, and what the driver had free there."""

    gpu: int
    asked_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class Gpu:
    """A GPU at its peak. The rows add up to `peak_bytes`, which is the allocator's figure."""

    index: int
    peak_bytes: int
    phase: str
    reserved_bytes: int
    waiting_bytes: int  # freed, while another stream may still use them
    total_bytes: int  # of the GPU; 0: not known
    outside_bytes: int  # in use on the GPU outside of PyTorch's allocator; 0: not known
    rows: list[Row]
    line: list[Instant] = field(default_factory=list, repr=False)
    own_outside: dict[str, int] = field(default_factory=dict)  # bytes of those outside that are this process's, by cause
    other_processes: dict[str, int] = field(default_factory=dict)  # bytes of those outside that are another process's, by its name
    recomputable_bytes: int = 0  # what recomputation of each repeated block would save; 0: there are none

    @property
    def name(self) -> str:
        return f"cuda:{self.index}"

    @property
    def unused_bytes(self) -> int:
        """Kept by the allocator, and in no block at the peak."""
        return self.reserved_bytes - self.peak_bytes

    @property
    def by_cause(self) -> dict[str, int]:
        return self._by("cause")

    @property
    def by_category(self) -> dict[str, int]:
        return causes.by_category(self.by_cause)

    @property
    def by_phase(self) -> dict[str, int]:
        return self._by("phase")

    @property
    def by_module(self) -> dict[str, int]:
        return self._by("module")

    @property
    def unnamed(self) -> float:
        """The share of the peak that has no cause but its phase."""
        return self.by_cause.get(causes.UNNAMED, 0) / self.peak_bytes if self.peak_bytes else 0.0

    def _by(self, what: str) -> dict[str, int]:
        sums: Counter[str] = Counter()
        for row in self.rows:
            sums[getattr(row, what)] += row.nbytes
        return dict(sums.most_common())


@dataclass(frozen=True)
class GpuMemory:
    """What filled each GPU at its peak, and why; or, after a failed allocation, at that moment."""

    gpus: list[Gpu]
    failure: Failure | None = None
    rows: int = 0  # of the batch, where a wrapper's outputs tell; 0: not known

    @property
    def imbalance(self) -> float:
        """The peak of the first GPU over the mean peak of the others; 1 for one GPU."""
        others = [gpu.peak_bytes for gpu in self.gpus[1:]]
        return self.gpus[0].peak_bytes * len(others) / sum(others) if others and sum(others) else 1.0

    def text(self) -> str:
        from tandem.gpu_memory.text import text

        return text(self)

    def json(self) -> str:
        """One JSON object, with a schema_version."""
        return json.dumps(self.as_dict(), indent=2)

    def html(self) -> str:
        """A page that needs nothing else, for a file."""
        from tandem.gpu_memory.page import page

        return page([("this step", self)])

    def _repr_html_(self) -> str:
        from tandem.gpu_memory.page import frame

        return frame(self)

    def advice(self) -> list[str]:
        """What to do about the fullest GPU: sentences with what each remedy would save, the largest first."""
        return [remedy.sentence for remedy in self.remedies()]

    def remedies(self) -> list[Remedy]:
        """The same as data."""
        from tandem.gpu_memory.advice import remedies

        return remedies(self)

    @staticmethod
    def from_dict(told: dict[str, Any]) -> GpuMemory:
        """The inverse of as_dict()."""
        failure = Failure(**told["failure"]) if told["failure"] else None
        return GpuMemory([_gpu(device) for device in told["devices"]], failure, told["rows"])

    def as_dict(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "imbalance": self.imbalance,
            "failure": dataclasses.asdict(self.failure) if self.failure else None,
            "rows": self.rows,
            "advice": self.advice(),
            "devices": [_device(gpu) for gpu in self.gpus],
        }

    def __str__(self) -> str:
        return self.text()


def _device(gpu: Gpu) -> dict[str, Any]:
    return {
        "name": gpu.name,
        "peak_bytes": gpu.peak_bytes,
        "peak_phase": gpu.phase,
        "peak_by_cause": gpu.by_cause,
        "peak_by_category": gpu.by_category,
        "unnamed": gpu.unnamed,
        "reserved_bytes": gpu.reserved_bytes,
        "waiting_bytes": gpu.waiting_bytes,
        "total_bytes": gpu.total_bytes,
        "outside_bytes": gpu.outside_bytes,
        "own_outside": gpu.own_outside,
        "other_processes": gpu.other_processes,
        "recomputable_bytes": gpu.recomputable_bytes,
        "rows": [{"cause": row.cause, "category": causes.CATEGORIES[row.cause], "phase": row.phase, "module": row.module, "bytes": row.nbytes}
                 for row in gpu.rows],
        "line": [{"microseconds": at.microseconds, "by_cause": at.by_cause} for at in gpu.line],
    }


def _gpu(device: dict[str, Any]) -> Gpu:
    return Gpu(
        index=int(device["name"].partition(":")[2]),
        peak_bytes=device["peak_bytes"],
        phase=device["peak_phase"],
        reserved_bytes=device["reserved_bytes"],
        waiting_bytes=device["waiting_bytes"],
        total_bytes=device["total_bytes"],
        outside_bytes=device["outside_bytes"],
        own_outside=device["own_outside"],
        other_processes=device["other_processes"],
        rows=[Row(row["cause"], row["phase"], row["module"], row["bytes"]) for row in device["rows"]],
        line=[Instant(at["microseconds"], at["by_cause"]) for at in device["line"]],
        recomputable_bytes=device["recomputable_bytes"],
    )
