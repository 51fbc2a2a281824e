# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A report as a page that needs nothing else: the GPUs of each rank side by side, and each through the step."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tandem.gpu_memory import causes
from tandem.gpu_memory.report import Gpu, GpuMemory
from tandem.gpu_memory.text import size

_COLOURS = {
    "parameter": "#4269d0", "gradient": "#efb118", "optimizer": "#ff725c", "buffer": "#9498a0", "input": "#6cc5b0",
    "activation": "#3ca951", "output": "#ff8ab7", "output_gradient": "#a463f2", "communication": "#97bbf5",
    "workspace": "#9c6b4e", "held": "#c9b18c", "unnamed": "#000000", "rounding": "#d8d8d8",
}  # fmt: skip
_STYLE = """body{font:14px/1.45 system-ui,sans-serif;margin:2em;color:#222;max-width:75em}h1{font-size:1.4em}h2{font-size:1.1em;margin-top:2em}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}td,th{padding:.15em .8em;text-align:right;border-bottom:1px solid #eee}
td:first-child,th:first-child{text-align:left}svg{max-width:100%}.key{display:inline-block;width:.8em;height:.8em;margin-right:.3em}
pre{white-space:pre-wrap}@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}td,th{border-color:#333}svg text{fill:#ddd}}"""
_WIDTH, _BAR, _LINE = 900, 26, 150  # pixels


def page(parts: Sequence[tuple[str, GpuMemory]]) -> str:
    """The page of one or several ranks, each with a title."""
    body = "".join(_part(title, report) for title, report in parts)
    return (f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Memory of GPUs</title><style>{_STYLE}</style></head>'
            f"<body><h1>Why is GPU 0 full?</h1>{body}</body></html>")


def frame(report: GpuMemory) -> str:
    """The page in a frame of a notebook."""
    text = escape(page([("this step", report)]), quote=True)
    return f'<iframe srcdoc="{text}" style="width:100%;height:640px;border:0"></iframe>'


def _part(title: str, report: GpuMemory) -> str:
    if not report.gpus:
        return f"<h2>{escape(title)}</h2><p>No GPU held anything.</p>"
    most = max(gpu.peak_bytes for gpu in report.gpus)
    failed = report.failure
    note = f"<p>An allocation of {size(failed.asked_bytes)} failed on cuda:{failed.gpu}; this is what filled the GPUs then.</p>" if failed else ""
    lines = "".join(f"<h3>{gpu.name}</h3>{_through(gpu)}" for gpu in report.gpus if gpu.line)
    return (f"<h2>{escape(title)}</h2>{note}{_legend(report)}{_bars(report, most)}{_table(report)}"
            f"<p>Imbalance {report.imbalance:.2f}: the peak of {report.gpus[0].name} over the mean peak of the others.</p>"
            f"{_advice(report)}<h2>Memory through the step</h2>{lines}")


def _advice(report: GpuMemory) -> str:
    sentences = report.advice()
    return "<h2>What to do</h2><ul>" + "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences) + "</ul>" if sentences else ""


def _legend(report: GpuMemory) -> str:
    at_peaks = {row.cause for gpu in report.gpus for row in gpu.rows}
    later = {cause for gpu in report.gpus for at in gpu.line for cause in at.by_cause}
    present = {causes.CATEGORIES[cause] for cause in at_peaks | later}
    return "<p>" + " ".join(f'<span class="key" style="background:{colour}"></span>{name}&ensp;'
                            for name, colour in _COLOURS.items() if name in present) + "</p>"


def _bars(report: GpuMemory, most: int) -> str:
    rows, left = [], 70
    for number, gpu in enumerate(report.gpus):
        y, x = number * (_BAR + 6), float(left)
        rows.append(f'<text x="0" y="{y + 17}">{gpu.name}</text>')
        for category, nbytes in gpu.by_category.items():
            width = (_WIDTH - left - 90) * nbytes / most
            rows.append(f'<rect x="{x:.1f}" y="{y}" width="{max(width, 0):.1f}" height="{_BAR}" fill="{_COLOURS[category]}">'
                        f"<title>{category} {size(nbytes)}</title></rect>")
            x += width
        rows.append(f'<text x="{x + 6:.1f}" y="{y + 17}">{size(gpu.peak_bytes)}</text>')
    height = len(report.gpus) * (_BAR + 6)
    return f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img">{"".join(rows)}</svg>'


def _table(report: GpuMemory) -> str:
    found: dict[str, None] = {}
    for gpu in report.gpus:
        found |= dict.fromkeys(gpu.by_cause)
    head = "".join(f"<th>{gpu.name}</th>" for gpu in report.gpus)
    lines = []
    for cause in found:
        lines.append(_row(cause, [gpu.by_cause.get(cause) for gpu in report.gpus]))
    for name, value in (("peak", "peak_bytes"), ("kept, unused", "unused_bytes"), ("outside of PyTorch", "outside_bytes")):
        cells = "".join(f"<td>{size(getattr(gpu, value))}</td>" for gpu in report.gpus)
        lines.append(f"<tr><th>{name}</th>{cells}</tr>")
    outside = [{**gpu.own_outside, **gpu.other_processes} for gpu in report.gpus]
    lines += [_row(name, [found.get(name) for found in outside]) for name in dict.fromkeys(name for found in outside for name in found)]
    return f"<table><tr><th>cause</th>{head}</tr>{''.join(lines)}</table>"


def _row(name: str, sizes: Sequence[int | None]) -> str:
    cells = "".join(f"<td>{'' if nbytes is None else size(nbytes)}</td>" for nbytes in sizes)
    return f"<tr><td>{escape(name)}</td>{cells}</tr>"


def _through(gpu: Gpu) -> str:
    """Areas of the categories, one on the other, over the recording's time."""
    heights = [causes.by_category(at.by_cause) for at in gpu.line]
    order = [name for name in _COLOURS if any(name in h for h in heights)]
    last = max(gpu.line[-1].microseconds, 1)
    most = max((sum(h.values()) for h in heights), default=0) or 1
    below = [0.0] * len(heights)
    areas = []
    for name in order:
        above = [b + h.get(name, 0) for b, h in zip(below, heights, strict=True)]
        xs = [_WIDTH * at.microseconds / last for at in gpu.line]
        top = " ".join(f"{x:.1f},{_LINE - _LINE * y / most:.1f}" for x, y in zip(xs, above, strict=True))
        bottom = " ".join(f"{x:.1f},{_LINE - _LINE * y / most:.1f}" for x, y in reversed(list(zip(xs, below, strict=True))))
        areas.append(f'<polygon points="{top} {bottom}" fill="{_COLOURS[name]}"><title>{name}</title></polygon>')
        below = above
    return f'<svg viewBox="0 0 {_WIDTH} {_LINE}" width="{_WIDTH}" height="{_LINE}" role="img">{"".join(areas)}</svg>'
