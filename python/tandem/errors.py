# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What tandem throws on purpose. A replica's own exception keeps its class: see Failure."""

from __future__ import annotations

import types
from dataclasses import dataclass
from traceback import format_exception_only


class Error(RuntimeError):
    """Base class. The text says what was wrong and what to do about it."""


class InvalidArgument(Error, ValueError):
    """A wrong shape, dtype, device or option."""


class OutOfMemory(Error, MemoryError):
    """An allocation would exceed a device's limit. In a replica it is torch.OutOfMemoryError."""


class FileError(Error, OSError):
    """A file is missing, cannot be written, or does not follow its format."""


class DeviceError(Error):
    """A device or its driver failed."""


class NoData(Error):
    """Data was read that was never computed."""


class CommError(Error):
    """A collective failed."""


class Timeout(CommError, TimeoutError):
    """A wait passed its deadline."""


class Desync(CommError):
    """Devices called different collectives, or the same one with different arguments."""


@dataclass(frozen=True)
class Failure:
    """Where a replica's exception comes from: its attribute `failure`."""

    replica: int
    device: str
    rows: tuple[int, int]
    phase: str
    module: str
    others: list[str]  # what other replicas have thrown besides, each text once

    def __str__(self) -> str:
        text = f"in replica {self.replica} on {self.device}, phase {self.phase}"
        begin, end = self.rows
        if end >= 0:
            text += f", rows {begin} to {end - 1}" if end > begin else ", no rows"
        if self.module:
            text += f", in '{self.module}'"
        return "; ".join([text] + [f"also {other}" for other in self.others])


def annotate(
    error: BaseException, replica: int, device: str, rows: tuple[int, int], phase: str, others: list[str]
) -> None:
    """Adds to a replica's exception where it comes from. Called by the extension module."""
    own = _message_of("".join(format_exception_only(error)))
    told = [text for text in dict.fromkeys(map(_message_of, others)) if text != own]
    failure = Failure(replica, device, rows, phase, _module_path(error.__traceback__), told)
    error.add_note(f"tandem: {failure}")
    try:
        error.failure = failure  # type: ignore[attr-defined]
    except AttributeError:  # a class with slots
        pass


def _message_of(text: str) -> str:
    """The last line of an error's text, without Python's traceback above it and C++'s below."""
    return text.partition("\nException raised from ")[0].strip().rpartition("\n")[2]


def _module_path(traceback: types.TracebackType | None) -> str:
    """The path of the innermost module whose forward is on the stack; '' if there is none."""
    from tandem._copies import path_of

    found = ""
    while traceback is not None:
        found = path_of(traceback.tb_frame.f_locals.get("self")) or found
        traceback = traceback.tb_next
    return found
