# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""torch.nn.DataParallel itself on virtual devices, to be compared with."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from tandem import torch_device
from tandem._devices import torch_name


def _copy(x: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A tensor that is there already is not copied."""
    if is_lazy(x):  # for which PyTorch refuses the module in a moment
        return torch.empty(0, device=device)
    return x.detach() if x.device == device else x.to(device)


def _broadcast(x: torch.Tensor, devices: Sequence[int]) -> tuple[torch.Tensor, ...]:
    return tuple(_copy(x, torch_name(device)) for device in devices)


def _broadcast_coalesced(
    tensors: Sequence[torch.Tensor], devices: Sequence[int], buffer_size: int
) -> list[list[torch.Tensor]]:
    return [[_copy(x, device) for x in tensors] for device in map(torch_name, devices)]


def _scatter(
    x: torch.Tensor, devices: Sequence[int], chunk_sizes: Sequence[int] | None, dim: int, streams: Any
) -> list[torch.Tensor]:
    chunks = x.chunk(len(devices), dim) if chunk_sizes is None else torch.split(x, list(chunk_sizes), dim)
    return [chunk.to(torch_name(device)) for chunk, device in zip(chunks, devices)]


def _gather(tensors: Sequence[torch.Tensor], dim: int, destination: int | None) -> torch.Tensor:
    return torch.cat([x.to(torch_name(destination)) for x in tensors], dim)


_FUNCTIONS: tuple[Callable[..., Any], ...] = (_broadcast, _broadcast_coalesced, _scatter, _gather)


@contextlib.contextmanager
def torch_data_parallel_on_virtual_devices() -> Iterator[None]:
    """Until the end of the block torch.nn.DataParallel, and the functions of torch.nn.parallel, run on virtual devices.

    PyTorch is unchanged but for four functions, torch._C._broadcast and others, that it has for GPUs alone. They are
    replaced for the whole process, so meanwhile no other thread may use several GPUs. Backward calls them too: a
    training step belongs into the block as a whole.
    """
    torch_device.register_devices()
    names = [function.__name__ for function in _FUNCTIONS]
    before = {name: getattr(torch._C, name) for name in names if hasattr(torch._C, name)}
    for function in _FUNCTIONS:
        setattr(torch._C, function.__name__, function)
    try:
        yield
    finally:
        for name in names:
            if name in before:
                setattr(torch._C, name, before[name])
            else:  # a PyTorch without GPUs has none
                delattr(torch._C, name)
