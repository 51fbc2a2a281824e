# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Trains one model on all devices of one machine from one process."""

import importlib
from typing import TYPE_CHECKING, Any

from tandem.errors import CommError, Desync, DeviceError, Error, FileError, InvalidArgument, NoData, OutOfMemory, Timeout
from tandem.marks import replicate, rows, split

if TYPE_CHECKING:
    from tandem._core import (
        Comparison,
        DeviceNeed,
        Explanation,
        LargestBatch,
        Memory,
        MemoryStats,
        StepModel,
        StepPlan,
        Tensor,
        chunk_sizes,
        configure_devices,
        default_devices,
        from_dlpack,
        limit,
        memory_stats,
        reset_peak,
        set_limit,
    )
    from tandem._core import version as __version__
    from tandem._reports import explain, memory
    from tandem._compare import compare
    from tandem.data_parallel import BalancedDataParallel, DataParallel
    from tandem.optimizer import Optimizer
    from tandem._replacement import replace_data_parallel
    from tandem._torch_peer import torch_data_parallel_on_virtual_devices
    from tandem.torch_device import register_devices

# Names of the extension module, which is loaded with the first of them: what is pure Python needs no build.
_OF_CORE = frozenset(
    {
        "Comparison",
        "DeviceNeed",
        "Explanation",
        "LargestBatch",
        "Memory",
        "MemoryStats",
        "StepModel",
        "StepPlan",
        "Tensor",
        "chunk_sizes",
        "configure_devices",
        "default_devices",
        "from_dlpack",
        "limit",
        "memory_stats",
        "reset_peak",
        "set_limit",
    }
)
# Names that need PyTorch, which is imported with the first of them.
_WITH_TORCH = {
    "BalancedDataParallel": "tandem.data_parallel",
    "DataParallel": "tandem.data_parallel",
    "Optimizer": "tandem.optimizer",
    "compare": "tandem._compare",
    "register_devices": "tandem.torch_device",
    "replace_data_parallel": "tandem._replacement",
    "torch_data_parallel_on_virtual_devices": "tandem._torch_peer",
}

__all__ = [
    "BalancedDataParallel",
    "CommError",
    "Comparison",
    "DataParallel",
    "Desync",
    "DeviceError",
    "DeviceNeed",
    "Error",
    "Explanation",
    "FileError",
    "InvalidArgument",
    "LargestBatch",
    "Memory",
    "MemoryStats",
    "NoData",
    "Optimizer",
    "OutOfMemory",
    "StepModel",
    "StepPlan",
    "Tensor",
    "Timeout",
    "chunk_sizes",
    "compare",
    "configure_devices",
    "default_devices",
    "explain",
    "from_dlpack",
    "limit",
    "memory",
    "memory_stats",
    "register_devices",
    "replace_data_parallel",
    "replicate",
    "reset_peak",
    "rows",
    "set_limit",
    "split",
    "torch_data_parallel_on_virtual_devices",
]


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]


def _core_module() -> Any:
    try:
        return importlib.import_module("tandem._core")
    except ImportError as error:
        if "CPU ISA level" not in str(error):  # as glibc's loader says it
            raise
        raise ImportError(
            "tandem: this processor has not all instructions of x86-64-v2, which this build is for (SSE 4.2 and POPCNT; nearly all "
            "since 2011 have them); build it on this machine, in the folder of its sources: pip install -C cmake.define.TANDEM_MARCH=native "
            "-C cmake.define.TANDEM_KERNELS= ."
        ) from error


def __getattr__(name: str) -> Any:
    if name in _WITH_TORCH:
        _core_module()
        importlib.import_module("tandem._with_torch")
        return getattr(importlib.import_module(_WITH_TORCH[name]), name)
    if name in ("explain", "memory"):
        return getattr(importlib.import_module("tandem._reports"), name)
    if name == "__version__":
        return _core_module().version
    if name in _OF_CORE:
        from tandem._signatures import with_signature

        globals()[name] = with_signature(getattr(_core_module(), name))
        return globals()[name]
    raise AttributeError(f"module 'tandem' has no attribute {name!r}")
