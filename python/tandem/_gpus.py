# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The GPUs of PyTorch behind a wrapper's devices, and who else uses them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import distributed

from tandem._with_torch import _torch
from tandem.errors import InvalidArgument


def check_apart(names: Sequence[str], what: str) -> None:
    """Raises InvalidArgument where two devices are on one GPU ('cuda:0x2'), for what has to tell their work apart."""
    first: dict[int, str] = {}
    for name in names if torch.device(names[0]).type == "cuda" else ():
        other = first.setdefault(_torch.gpu_of(name), name)
        if other != name:
            raise InvalidArgument(
                f"{what}: {other} and {name} are devices of GPU {_torch.gpu_of(name)}, whose work and memory PyTorch does not tell "
                "apart; give each a GPU"
            )


def check_numbers(names: Sequence[str]) -> None:
    """Raises InvalidArgument where a device of the process is on another GPU than that of its number, by which it was given."""
    for name in names:
        number, gpu = torch.device(name).index or 0, _torch.gpu_of(name)
        if number != gpu:
            raise InvalidArgument(
                f"DataParallel: GPU {number} is given, but the process has several devices on a GPU by now, and its {name} is on GPU {gpu}; "
                "name the devices as the first wrapper did, such as devices='cuda:0x2', or run this training in a process of its own"
            )


def check_no_process_group() -> None:
    """Raises InvalidArgument if other processes are waited for over NCCL too.

    NCCL's kernels on a GPU wait for those of other GPUs. Those of two libraries can come in one order here and in another one there,
    and then wait for ever.
    """
    if not (distributed.is_available() and distributed.is_initialized()) or distributed.get_world_size() == 1:
        return
    if any("nccl" in backends for backends in distributed.distributed_c10d._world.pg_backend_config.values()):
        raise InvalidArgument(
            "DataParallel: backend is nccl, and so is that of a process group of torch.distributed, whose collectives may wait for these "
            "for ever; use backend='local', or torch.distributed.destroy_process_group() before the call"
        )
