# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Where a module must be for a program that lists device_ids, as for torch.nn.DataParallel."""

from collections.abc import Iterable, Iterator
from itertools import chain

import torch

from tandem.errors import InvalidArgument

def tensors_of(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    return chain(module.parameters(), module.buffers())


def check_supported(device: torch.device) -> None:
    """Raises InvalidArgument for a device that is neither the host nor a virtual one nor a GPU that PyTorch sees."""
    if device.type == "meta":
        raise InvalidArgument(
            "DataParallel: the module is on device meta, where tensors have no values; call module.to_empty(device='cpu') and "
            "initialize it, or load a state dict, first"
        )
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InvalidArgument(
            f"DataParallel: got device {device}, but PyTorch sees no GPU (torch.cuda.is_available() is False); for virtual devices "
            "call module.cpu(), and give devices='cpu:4'"
        )
    if device.type not in ("cpu", "tandem", "cuda"):
        raise InvalidArgument(
            f"DataParallel: got device {device}; modules of PyTorch train on its GPUs (module.cuda()) and on virtual devices "
            "(module.cpu(), and devices='cpu:4')"
        )


def check_home(tensors: Iterable[torch.Tensor], device: torch.device) -> None:
    """Raises InvalidArgument, which is a RuntimeError, for a tensor of a module that is not on `device`."""
    for x in tensors:
        if x.device != device:
            check_supported(x.device)
            host = "devices='cpu:4' for virtual devices" if device.type == "cuda" else "devices= in place of device_ids"
            raise InvalidArgument(
                f"module must have its parameters and buffers on device {device} (device_ids[0]) but found one of them "
                f"on device: {x.device}; call module.to('{device}'), or give {host}, for a module that stays on the host"
            )
