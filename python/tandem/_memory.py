# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem.memory: of PyTorch's GPUs where the program has tensors there, and of tandem's own devices otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tandem._core import Memory
    from tandem.gpu_memory import GpuMemory


def memory(step: Callable[[], Any]) -> Memory | GpuMemory:
    """Calls step(), and tells what filled each device at its peak.

    Those are PyTorch's GPUs if the program has tensors on them (torch.cuda), and tandem's default devices otherwise.
    """
    if _uses_gpus():
        from tandem.gpu_memory import measure

        return measure(step)
    from tandem import _core

    return _core.memory(step)


def _uses_gpus() -> bool:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return False
    return any(torch.cuda.memory_allocated(gpu) for gpu in range(torch.cuda.device_count()))
