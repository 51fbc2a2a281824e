# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The files that a report goes to, beside its text."""

from __future__ import annotations

import argparse
import pathlib
from typing import Protocol

from tandem.errors import FileError


class Report(Protocol):
    def json(self) -> str: ...

    def html(self) -> str: ...


def write(options: argparse.Namespace, report: Report) -> None:
    """Where --json and --report say.

    @throws FileError  a file cannot be written.
    """
    for path, text in ((options.json, report.json), (options.report, report.html)):
        if path:
            write_file(path, text())


def write_file(path: str | pathlib.Path, text: str) -> None:
    try:
        pathlib.Path(path).write_text(text)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error
