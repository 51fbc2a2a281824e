# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Why is GPU 0 full? What filled each GPU in a step of any program of PyTorch on cuda, by cause. Needs no build of tandem."""

from typing import TYPE_CHECKING, Any

from tandem.gpu_memory.advice import Remedy
from tandem.gpu_memory.balance import Balance, balance
from tandem.gpu_memory.batch_model import BatchModel, fit
from tandem.gpu_memory.report import Failure, Gpu, GpuMemory, Instant, Row

if TYPE_CHECKING:
    from tandem.gpu_memory.recorder import Recorder, measure

__all__ = ["Balance", "BatchModel", "Failure", "Gpu", "GpuMemory", "Instant", "Recorder", "Remedy", "Row", "balance", "fit", "measure"]


def __getattr__(name: str) -> Any:
    """What records needs PyTorch, and is loaded with the first of its names: what reads files needs none."""
    if name not in ("Recorder", "measure"):
        raise AttributeError(f"module 'tandem.gpu_memory' has no attribute {name!r}")
    from tandem.gpu_memory import recorder

    return getattr(recorder, name)
