# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A report as text, in the manner of tandem memory."""

from __future__ import annotations

from collections import Counter, defaultdict

from tandem.gpu_memory.report import Gpu, GpuMemory

_BAR = 30  # characters
_EIGHTHS = " ▏▎▍▌▋▊▉"
_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_OWNERS = 3


def size(nbytes: int) -> str:
    """'34.0 MiB'."""
    for unit, name in _UNITS:
        if abs(nbytes) >= unit:
            return f"{nbytes / unit:.1f} {name}"
    return f"{nbytes} B"


def text(report: GpuMemory) -> str:
    if not report.gpus:
        return "no GPU held anything"
    lines = []
    if report.failure:
        failed = report.failure
        lines.append(
            f"an allocation of {size(failed.asked_bytes)} failed on cuda:{failed.gpu}, where {size(failed.free_bytes)} were free; "
            "what filled the GPUs then:"
        )
    most = max(gpu.peak_bytes for gpu in report.gpus)
    for gpus in _alike(report.gpus):
        lines += [*_gpu(gpus, most), ""]
    if len(report.gpus) > 1:
        lines.append(f"imbalance {report.imbalance:.2f}: the peak of {report.gpus[0].name} over the mean peak of the others")
    lines += [f"- {sentence}" for sentence in report.advice()]
    return "\n".join(lines).rstrip()


def _alike(gpus: list[Gpu]) -> list[list[Gpu]]:
    """GPUs one after the other that hold the same are told once."""
    groups: list[list[Gpu]] = []
    for gpu in gpus:
        if groups and _held(gpu) == _held(groups[-1][0]):
            groups[-1].append(gpu)
        else:
            groups.append([gpu])
    return groups


def _held(gpu: Gpu) -> tuple[object, ...]:
    return gpu.by_cause, gpu.reserved_bytes, gpu.own_outside, gpu.other_processes


def _gpu(gpus: list[Gpu], most: int) -> list[str]:
    gpu = gpus[0]
    name = gpu.name if len(gpus) == 1 else f"{gpu.name} to {gpus[-1].index}"
    outside = f", and {size(gpu.outside_bytes)} in use outside of PyTorch" if gpu.outside_bytes else ""
    parts = [*(f"{cause} {size(nbytes)}" for cause, nbytes in gpu.own_outside.items()),
             *(f"{process} has {size(nbytes)}" for process, nbytes in gpu.other_processes.items())]
    if outside and parts:
        outside += f" ({', '.join(parts)})"
    lines = [f"{name:<11}{size(gpu.peak_bytes):>11}  reached in {gpu.phase}; {size(gpu.unused_bytes)} more kept by the allocator, unused{outside}"]
    phases: dict[str, Counter[str]] = defaultdict(Counter)
    for row in gpu.rows:
        phases[row.cause][row.phase] += row.nbytes
    for cause, nbytes in gpu.by_cause.items():
        told = ", ".join(f"{phase} {size(part)}" for phase, part in phases[cause].most_common() if phase)
        lines.append(f"  {cause:<26} {_bar(nbytes / most):<{_BAR}} {size(nbytes):>12}  {told}".rstrip())
    owners = [row for row in gpu.rows if row.module][:_OWNERS]
    if owners:
        lines.append("  largest owners: " + ", ".join(f"{row.cause} of {row.module} {size(row.nbytes)}" for row in owners))
    return lines


def _bar(share: float) -> str:
    eighths = round(share * _BAR * 8)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
