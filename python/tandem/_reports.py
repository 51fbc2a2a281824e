# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem.memory and tandem.explain: of PyTorch's GPUs where there are any, and of tandem's own devices otherwise."""

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

    Those are PyTorch's GPUs if it sees any and nobody has asked for virtual devices, and tandem's default devices otherwise.
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
    torch, adapter = sys.modules.get("torch"), sys.modules.get("tandem._torch")
    asked_for_virtual = adapter is not None and adapter.registered_devices() > 0
    return torch is not None and torch.cuda.is_available() and not asked_for_virtual
