# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What tandem itself holds on GPUs: of the parts of a wrapper that PyTorch's allocator knows only as blocks."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from tandem.gpu_memory import causes
from tandem.gpu_memory.notes import Notes

# By tandem's category. A module's own parameters and gradients are PyTorch's tensors, and come first.
_CAUSES = {
    "parameter": causes.KEPT_COPY,
    "gradient": causes.GRADIENT_OF_COPY,
    "optimizer": causes.OPTIMIZER_STATE,
    "buffer": causes.BUFFER,
    "input": causes.INPUT,
    "output": causes.OUTPUT,
    "output_gradient": causes.GRADIENT_OF_OUTPUT,
    "communication": causes.EXCHANGE,
    "workspace": causes.WORKSPACE,
}


class OwnBuffers:
    """A log of tandem's buffers, in a process that has its adapter for PyTorch; in another one it stays empty."""

    def __init__(self) -> None:
        self._log: Any = None

    def start(self) -> None:
        if "tandem._torch" in sys.modules:
            from tandem import _core

            self._log = _core.BufferLog()

    def stop(self, notes: Notes) -> None:
        """Ends the log, and notes what it says."""
        log, self._log = self._log, None
        for when, gpu, address, category, phase, owners in _entries(log):
            if category in _CAUSES:
                for owner, nbytes in owners:
                    notes.add_block(gpu, address, when, _CAUSES[category], owner, nbytes, "before" if phase == "none" else phase)


def _entries(log: Any) -> Iterable[tuple[int, int, int, str, str, list[tuple[str, int]]]]:
    return log.stop() if log is not None else ()
