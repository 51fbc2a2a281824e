# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What of a GPU is in use outside of PyTorch's allocator, and which of its blocks are the workspaces of cuBLAS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from tandem.gpu_memory.processes import processes

CONTEXT = "CUDA's context and libraries"
COMMUNICATORS = "NCCL's communicators"


class Driver(NamedTuple):
    """What the driver says of a GPU, in bytes."""

    total: int
    outside: int  # in use, and not by this process's allocator: CUDA's context, NCCL's buffers, other libraries and processes
    own: Mapping[str, int] = {}  # what of it is this process's, by cause
    processes: Mapping[str, int] = {}  # what of it is other processes', by name


def ask_driver(communicators: Mapping[int, int]) -> dict[int, Driver]:
    """By GPU; only of those that this process uses, since to ask costs a context. `communicators` has the bytes of NCCL's that were seen."""
    found = {}
    for gpu in range(torch.cuda.device_count()):
        reserved = torch.cuda.memory_reserved(gpu)
        if reserved:
            free, total = torch.cuda.mem_get_info(gpu)
            found[gpu] = Driver(total, max(total - free - reserved, 0))
    for gpu, told in processes(list(found)).items():
        context = max((told.own or 0) - torch.cuda.memory_reserved(gpu) - communicators.get(gpu, 0), 0)
        found[gpu] = found[gpu]._replace(own={CONTEXT: context}, processes=told.others)
    for gpu, driver in found.items():
        own = {**driver.own, COMMUNICATORS: communicators.get(gpu, 0)}
        found[gpu] = driver._replace(own={cause: nbytes for cause, nbytes in own.items() if nbytes})
    return found


def cublas_blocks(snapshot: Mapping[str, Any]) -> set[tuple[int, int]]:
    """GPU and address of the blocks of a snapshot that cuBLAS keeps as workspaces: those that go when it is told to free them. It
    takes them anew when it needs them."""
    before = _blocks(snapshot["segments"])
    torch._C._cuda_clearCublasWorkspaces()
    return before - _blocks(torch.cuda.memory._snapshot()["segments"])


def _blocks(segments: list[dict[str, Any]]) -> set[tuple[int, int]]:
    found = set()
    for segment in segments:
        address = segment["address"]
        for block in segment["blocks"]:
            address = block.get("address", address)
            if block["state"] == "active_allocated":
                found.add((segment["device"], address))
            address += block["size"]
    return found
