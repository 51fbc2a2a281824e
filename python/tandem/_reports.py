# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem.memory and tandem.explain: of PyTorch's GPUs where the program has tensors there, and of tandem's own devices otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tandem import _core

if TYPE_CHECKING:
    from tandem._core import Explanation, Memory
    from tandem.gpu_memory import GpuMemory


def memory(step: Callable[[], Any]) -> Memory | GpuMemory:
    """Calls step(), and tells what filled each device at its peak.

    Those are PyTorch's GPUs if the program has tensors on them (torch.cuda), and tandem's default devices otherwise.
    """
    if _uses_gpus():
        from tandem.gpu_memory import measure

        return measure(step)
    return _core.memory(step)


def explain(step: Callable[[], Any]) -> Explanation:
    """Calls step(), and tells what it did: explain(lambda: model.step(batch, loss, optimizer)).

    All threads are seen, so let nothing else run meanwhile. On PyTorch's GPUs all of PyTorch's ops are seen, with or without
    a wrapper; their times are those of the GPUs' streams.
    """
    if _uses_gpus():
        from tandem._gpu_record import observed

        return _core.explain(observed(step))
    return _core.explain(step)


def _uses_gpus() -> bool:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return False
    return any(torch.cuda.memory_allocated(gpu) for gpu in range(torch.cuda.device_count()))
