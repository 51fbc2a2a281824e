# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Which processes hold memory of a GPU, by NVML, the library that nvidia-smi asks."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

_SUCCESS = 0
_MOST = 256  # processes of a GPU
_NOT_KNOWN = 2**64 - 1  # bytes: NVML may not tell


class _Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("nbytes", ctypes.c_ulonglong), ("gpu_instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


class Processes(NamedTuple):
    """Bytes of a GPU that processes have."""

    own: int | None  # of this one; None: not told
    others: dict[str, int]  # by name and number


def processes(gpus: list[int]) -> dict[int, Processes]:
    """By GPU of PyTorch's. One that NVML does not tell of is not there; nor is any in a container whose processes have numbers of its own."""
    with _nvml() as nvml:
        told = {gpu: _of_gpu(nvml, gpu) for gpu in gpus} if nvml else {}
    return {gpu: found for gpu, found in told.items() if found is not None}


@contextlib.contextmanager
def _nvml() -> Iterator[Any]:
    """NVML, until the end of the block; None: it is not there."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        nvml = None
    if nvml is None or nvml.nvmlInit_v2() != _SUCCESS:
        yield None
        return
    try:
        yield nvml
    finally:
        nvml.nvmlShutdown()


def _of_gpu(nvml: Any, gpu: int) -> Processes | None:
    handle, count, found = ctypes.c_void_p(), ctypes.c_uint(_MOST), (_Process * _MOST)()
    uuid = f"GPU-{torch.cuda.get_device_properties(gpu).uuid}".encode()  # numbers are of those that the process sees
    if nvml.nvmlDeviceGetHandleByUUID(uuid, ctypes.byref(handle)) != _SUCCESS:
        return None
    if nvml.nvmlDeviceGetComputeRunningProcesses_v3(handle, ctypes.byref(count), found) != _SUCCESS:
        return None
    told = {process.pid: process.nbytes for process in found[: count.value]}
    if os.getpid() not in told:
        return None  # its numbers are not those of this container, so that this process would count as another
    own = told.pop(os.getpid())
    others = {f"{_name(pid)} ({pid})": nbytes for pid, nbytes in told.items() if nbytes != _NOT_KNOWN}
    return Processes(None if own == _NOT_KNOWN else own, others)


def _name(pid: int) -> str:
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return "process"
