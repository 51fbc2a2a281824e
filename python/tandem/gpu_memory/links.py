# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Copies and collectives in a trace of torch.profiler, by link."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tandem.gpu_memory.text import size

_HOST = "host"


class Link(NamedTuple):
    """What went from `source` to `target`, such as "host" and "cuda:0"; of a collective these are None, as a trace has its GPU alone."""

    what: str
    source: str | None
    target: str | None
    times: int
    nbytes: int  # 0: not known
    microseconds: float

    def __str__(self) -> str:
        way = f"{self.source} to {self.target}" if self.source else self.what
        return f"{way:<44}{self.times:>6} times {size(self.nbytes) if self.nbytes else 'bytes not known':>16} {self.microseconds / 1000:>10.1f} ms"


def links_of(events: Iterable[Mapping[str, Any]]) -> list[Link]:
    """The longest first."""
    sums: dict[tuple[str, str | None, str | None], tuple[int, int, float]] = {}
    for event in events:
        way = _way(event)
        if way is not None:
            count, nbytes, spent = sums.get(way, (0, 0, 0.0))
            sums[way] = count + 1, nbytes + int(event.get("args", {}).get("bytes", 0)), spent + float(event.get("dur", 0))
    return sorted((Link(*way, *told) for way, told in sums.items()), key=lambda link: -link.microseconds)


def _way(event: Mapping[str, Any]) -> tuple[str, str | None, str | None] | None:
    kind, name, arguments = event.get("cat"), str(event.get("name", "")), event.get("args", {})
    own = f"cuda:{arguments.get('device', '?')}"
    if kind == "gpu_memcpy":
        if "HtoD" in name:
            return "copy", _HOST, own
        if "DtoH" in name:
            return "copy", own, _HOST
        if "fromDevice" in arguments and "toDevice" in arguments:
            return "copy", f"cuda:{arguments['fromDevice']}", f"cuda:{arguments['toDevice']}"
        return "copy", own, "another GPU" if "PtoP" in name else own
    if kind == "kernel" and name.startswith("nccl"):
        return f"{arguments.get('Collective name', name.split('(')[0])} on {own}", None, None
    return None
