# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Virtual devices in the place of GPUs: what a program calls cuda is taken as tandem."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from torch.amp import grad_scaler
from torch.overrides import TorchFunctionMode

import tandem
from tandem import torch_device

# Names of torch.cuda, and what torch.tandem has for them.
_SAME = {name: name for name in (
    "device", "get_device_name", "synchronize", "empty_cache", "manual_seed", "manual_seed_all", "max_memory_allocated", "memory_allocated",
    "reset_peak_memory_stats", "set_device", "current_device", "get_rng_state", "set_rng_state", "get_rng_state_all", "set_rng_state_all",
    "is_bf16_supported")}
_SAME |= {"memory_reserved": "memory_allocated", "max_memory_reserved": "max_memory_allocated"}
_DEVICE_TYPE = ("torch._utils", "torch.nn.parallel.data_parallel")  # modules that ask for the kind of accelerator


def _taken(device: Any) -> Any:
    """A device of a program as the virtual one; anything else as it is."""
    if isinstance(device, torch.device) and device.type == "cuda":
        return torch.device("tandem", device.index or 0)
    if isinstance(device, str) and device.partition(":")[0] == "cuda":
        return device.replace("cuda", "tandem", 1)
    return device


def _moved(x: torch.Tensor, device: Any = None, non_blocking: bool = False, **_: Any) -> torch.Tensor:
    """x.cuda(device)."""
    if device is None or isinstance(device, int):
        device = torch.device("tandem", torch_device.current_device() if device is None else device)
    return x.to(device, non_blocking=non_blocking)


def _properties(device: Any = None) -> SimpleNamespace:
    """A virtual device has no multiprocessors, and its memory is the host's if it has no limit."""
    index = _taken(device).index if isinstance(device, torch.device) else device if isinstance(device, int) else torch_device.current_device()
    host = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return SimpleNamespace(name=torch_device.get_device_name(index), major=0, minor=0, multi_processor_count=1,
                           total_memory=tandem.limit(f"cpu:{index}") or host)


class _CudaAsTandem(TorchFunctionMode):
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.device:  # whose type a program may look at
            return function(*args, **(kwargs or {}))
        args = tuple(_taken(x) for x in args)
        kwargs = {name: _taken(x) for name, x in (kwargs or {}).items()}
        if function is torch.Tensor.cuda:
            return _moved(*args, **kwargs)
        return function(*args, **kwargs)


@contextlib.contextmanager
def cuda_as_virtual_devices(count: int) -> Iterator[None]:
    """Until the end of the block the process has `count` virtual devices, and a program finds them under the name of cuda.

    torch.nn.DataParallel is PyTorch's own. Streams, events and the allocator's history are not there, and a tensor's own device is tandem:0.
    """
    tandem.configure_devices(f"cpu:{count}")
    tandem.register_devices(count)
    cuda = torch.cuda
    autocast, scaler, load = torch.autocast.__init__, grad_scaler.GradScaler.__init__, torch.load
    with contextlib.ExitStack() as stack:
        def replace(owner: Any, name: str, value: Any) -> None:
            stack.enter_context(mock.patch.object(owner, name, value))

        replace(cuda, "is_available", lambda: True)
        for owner in (cuda, torch_device):  # more may be registered
            replace(owner, "device_count", lambda: count)
        for name, own in _SAME.items():
            for module in (cuda, cuda.random, cuda.memory):
                if hasattr(module, name):
                    replace(module, name, getattr(torch_device, own))
        replace(cuda, "get_device_properties", _properties)
        replace(cuda, "get_device_capability", lambda device=None: (0, 0))
        for name in _DEVICE_TYPE:
            replace(importlib.import_module(name), "_get_available_device_type", lambda: "tandem")
        replace(torch.autocast, "__init__", lambda own, device_type, *args, **kwargs: autocast(own, _taken(device_type), *args, **kwargs))
        replace(grad_scaler.GradScaler, "__init__", lambda own, device="cuda", *args, **kwargs: scaler(own, _taken(str(device)), *args, **kwargs))
        replace(torch, "load", lambda f, map_location=None, *args, **kwargs: load(f, _taken(map_location), *args, **kwargs))
        stack.enter_context(tandem.torch_data_parallel_on_virtual_devices())
        stack.enter_context(_CudaAsTandem())
        yield
