# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Where a module must be for a program that lists device_ids, as for torch.nn.DataParallel."""

import warnings
from collections.abc import Iterable, Iterator
from itertools import chain

import torch

from tandem.errors import InvalidArgument

GPUS = (
    "PyTorch's own GPUs are not supported yet; modules of PyTorch train on virtual devices of the host, and on GPUs by "
    "torch.nn.DataParallel or DistributedDataParallel"
)


def tensors_of(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    return chain(module.parameters(), module.buffers())


_warned: list[bool] = []


def warn_of_gpus() -> None:
    """Says once that PyTorch's GPUs stay idle, where it has some."""
    if _warned or not torch.cuda.is_available():
        return
    _warned.append(True)
    warnings.warn(f"tandem.DataParallel: this machine has GPUs, which stay idle: {GPUS}", stacklevel=3)


def check_supported(device: torch.device) -> None:
    """Raises InvalidArgument for a device that is neither the host nor a virtual one."""
    if device.type == "meta":
        raise InvalidArgument(
            "DataParallel: the module is on device meta, where tensors have no values; call module.to_empty(device='cpu') and "
            "initialize it, or load a state dict, first"
        )
    if device.type not in ("cpu", "tandem"):
        raise InvalidArgument(f"DataParallel: got device {device}: {GPUS}; for virtual devices call module.cpu(), and give devices='cpu:4'")


def check_home(tensors: Iterable[torch.Tensor], device: torch.device) -> None:
    """Raises InvalidArgument, which is a RuntimeError, for a tensor of a module that is not on `device`."""
    for x in tensors:
        if x.device != device:
            check_supported(x.device)
            raise InvalidArgument(
                f"module must have its parameters and buffers on device {device} (device_ids[0]) but found one of them "
                f"on device: {x.device}; call module.to('{device}'), or give devices= in place of device_ids for a "
                "module that stays on the host"
            )
