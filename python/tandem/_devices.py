# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A device as callers give it, by the name that PyTorch or the library has for it."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from tandem import torch_device
from tandem._home import check_supported
from tandem._with_torch import _torch

DeviceLike = int | str | torch.device


def library_name(device: DeviceLike, kind: str = "cpu") -> str:
    """'cpu:1' for 'tandem:1', 'cpu:1' and torch.device('tandem:1'), and 'cuda:1' for a GPU; a number is of `kind`. See also output_name."""
    if isinstance(device, int):
        return f"{kind}:{device}"
    check_supported(torch.device(str(device).partition(":")[0]))
    return str(device).replace("tandem:", "cpu:", 1)


def output_name(device: DeviceLike, kind: str = "cpu") -> str:
    """The same for a device that outputs go to: 'host' for PyTorch's own 'cpu', its torch.device and -1."""
    is_host = device == -1 or device == "cpu" or (isinstance(device, torch.device) and device.type == "cpu")
    return "host" if is_host else library_name(device, kind)


def torch_devices(names: Sequence[str]) -> list[torch.device]:
    """Those of a wrapper, whose names are the library's: torch.device('tandem:1') for 'cpu:1', and the GPU of 'cuda:1'."""
    return [torch.device("cuda", _torch.gpu_of(name)) if name.startswith("cuda") else torch.device(name.replace("cpu", "tandem", 1)) for name in names]


def numbers_are_gpus() -> bool:
    """Whether a device that is given as a number is a GPU of PyTorch's: it sees some, and nobody has asked for virtual devices."""
    return _torch.registered_devices() == 0 and torch.cuda.is_available()


def torch_name(device: DeviceLike | None) -> torch.device:
    """A device by its index or name. None is the current one, and 'cpu' and -1 are the host; numbers may be of GPUs."""
    if str(device).partition(":")[0] != "tandem" and numbers_are_gpus():
        if isinstance(device, int):
            return torch.device("cpu") if device < 0 else torch.device("cuda", device)
        device = torch.device("cuda" if device is None else device)
        return torch.device("cuda", torch.cuda.current_device()) if device == torch.device("cuda") else device
    torch_device.register_devices()
    if isinstance(device, int):
        return torch.device("cpu") if device < 0 else torch.device("tandem", device)
    device = torch.device("tandem" if device is None else device)
    if device.type == "tandem" and device.index is None:
        return torch.device("tandem", torch_device.current_device())
    return device
