# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Which other processes hold memory of a GPU, by NVML, the library that nvidia-smi asks."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import torch

_SUCCESS = 0
_MOST = 256  # processes of a GPU
_NOT_KNOWN = 2**64 - 1  # bytes: NVML may not tell


class _Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("nbytes", ctypes.c_ulonglong), ("gpu_instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


def other_processes(gpus: list[int]) -> dict[int, dict[str, int]]:
    """By GPU of PyTorch's: bytes by the name and number of each process but this one. Empty where NVML is not there or does not tell,
    and in a container whose processes have numbers of its own."""
    with _nvml() as nvml:
        return {gpu: _of_gpu(nvml, gpu) for gpu in gpus} if nvml else {}


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


def _of_gpu(nvml: Any, gpu: int) -> dict[str, int]:
    handle, count, found = ctypes.c_void_p(), ctypes.c_uint(_MOST), (_Process * _MOST)()
    uuid = f"GPU-{torch.cuda.get_device_properties(gpu).uuid}".encode()  # numbers are of those that the process sees
    if nvml.nvmlDeviceGetHandleByUUID(uuid, ctypes.byref(handle)) != _SUCCESS:
        return {}
    if nvml.nvmlDeviceGetComputeRunningProcesses_v3(handle, ctypes.byref(count), found) != _SUCCESS:
        return {}
    told = found[: count.value]
    if all(process.pid != os.getpid() for process in told):
        return {}  # its numbers are not those of this container, so that this process would count as another
    others = (process for process in told if process.pid != os.getpid() and process.nbytes != _NOT_KNOWN)
    return {f"{_name(process.pid)} ({process.pid})": process.nbytes for process in others}


def _name(pid: int) -> str:
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return "process"
