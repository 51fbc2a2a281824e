# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Switches the allocator's history on and off, and checks before that nothing is in the way."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import torch

from tandem.errors import DeviceError, InvalidArgument

OLDEST = (2, 8)
MOST_ENTRIES = 1_000_000  # of a GPU; later ones would take the place of the first
_DRIVER = "libcuda.so.1"
_INSTEAD = ("let a stand-in play four GPUs: python -m tandem memory --devices cuda:4 PROGRAM.py (in a test: python -m tandem stand_in), or use "
            "virtual devices in their place: --devices cpu:4")


def check_build() -> None:
    """Raises an error, with what to do, if this PyTorch cannot measure here. Asks no driver: a process that did cannot fork."""
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < OLDEST:
        raise InvalidArgument(
            f"memory: this is PyTorch {torch.__version__}, and it needs {OLDEST[0]}.{OLDEST[1]} or later: pip install --upgrade torch"
        )
    if torch.version.cuda is None:
        raise DeviceError(
            f"memory: PyTorch {torch.__version__} was built without CUDA: install one with it "
            "(pip install torch, see pytorch.org/get-started), or use virtual devices: python -m tandem memory --devices cpu:4 PROGRAM.py"
        )
    if not has_driver():
        raise DeviceError(f"memory: this machine has no GPU for PyTorch: NVIDIA's driver, {_DRIVER}, is missing. Without a GPU {_INSTEAD}")


def has_driver() -> bool:
    """Whether NVIDIA's driver, or a stand-in's, can be loaded. Nothing is asked of it."""
    try:
        ctypes.CDLL(_DRIVER)
    except OSError:
        return False
    return True


def check() -> None:
    """Raises an error, with what to do, where memory cannot be measured now."""
    check_build()
    if not torch.cuda.is_available():
        raise DeviceError(
            "memory: PyTorch finds no GPU (torch.cuda.is_available() is False): look at nvidia-smi, and at CUDA_VISIBLE_DEVICES. "
            f"Without a GPU {_INSTEAD}"
        )
    backend = torch.cuda.memory.get_allocator_backend()
    if backend != "native":
        raise InvalidArgument(f"memory: the allocator is {backend}, which keeps no history; run without PYTORCH_CUDA_ALLOC_CONF=backend:{backend}")
    if torch.cuda.is_initialized() and torch._C._cuda_isHistoryEnabled():  # before, the call ends the process
        raise InvalidArgument(
            "memory: something else records the allocator's history; end it first by torch.cuda.memory._record_memory_history(None), "
            "or read its file: tandem memory snapshot.pickle"
        )


def start() -> list[dict[str, Any]]:
    """Begins the history, without stacks, and returns the segments that are there."""
    torch.cuda.init()
    segments: list[dict[str, Any]] = torch.cuda.memory._snapshot()["segments"]
    torch.cuda.memory._record_memory_history("all", context=None, max_entries=MOST_ENTRIES)
    return segments


def stop() -> dict[str, Any]:
    """Ends the history, and returns the allocator's snapshot with it."""
    snapshot: dict[str, Any] = torch.cuda.memory._snapshot()
    torch.cuda.memory._record_memory_history(None)
    return snapshot


def check_length(snapshot: Mapping[str, Any]) -> None:
    """Raises InvalidArgument if the beginning of a history was lost."""
    if any(len(trace) >= MOST_ENTRIES for trace in snapshot["device_traces"]):
        raise InvalidArgument(f"memory: the history has more than {MOST_ENTRIES:,} entries of a GPU; record less at once, such as one step")
