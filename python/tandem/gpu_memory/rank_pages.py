# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""One page for all ranks of a host: each rank leaves its numbers beside the page, and writes it anew from all that are there."""

from __future__ import annotations

import json
import os
import pathlib

from tandem.errors import FileError
from tandem.gpu_memory.page import page
from tandem.gpu_memory.report import GpuMemory


def write_page(path: pathlib.Path, title: str, report: GpuMemory, rank: str | None) -> None:
    """Writes the page. `rank` is the name of this process among those of a job; None: it is alone."""
    try:
        if rank is None:
            path.write_text(page([(title, report)]))
            return
        folder = path.with_name(path.name + f".{os.environ.get('TORCHELASTIC_RUN_ID', 'ranks')}")
        folder.mkdir(exist_ok=True)
        _replace(folder / f"{int(rank):05}.json", json.dumps({"title": title, "report": report.as_dict()}))
        parts = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
        _replace(path, page([(part["title"], GpuMemory.from_dict(part["report"])) for part in parts]))
    except OSError as error:
        raise FileError(f"run: cannot write the page {path}: {error}") from error


def _replace(path: pathlib.Path, text: str) -> None:
    """Writes a file so that another rank reads all of it, or what was there before."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text)
    part.replace(path)
