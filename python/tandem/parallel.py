# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The names of torch.nn.parallel, on PyTorch's GPUs or virtual devices. An existing program changes one import.

The functions are one call each, and keep nothing. A program that trains is faster with a DataParallel, whose replicas
stay from one call to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from tandem import _core
from tandem._copies import copy_parts
from tandem._devices import DeviceLike, numbers_are_gpus, torch_name
from tandem._home import check_home, tensors_of
from tandem.data_parallel import DataParallel
from tandem.errors import InvalidArgument

__all__ = ["DataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]


def scatter(inputs: Any, target_gpus: Sequence[DeviceLike], dim: int = 0) -> Any:
    """Cuts the tensors in a nest of tuples, lists and dicts along `dim`, and copies a chunk to each device.

    Returns a tuple for a tensor, and a list of nests for a nest: one for each chunk, of which there may be fewer than
    devices. Other objects go to every device. Gradients flow back.
    """
    devices = [torch_name(device) for device in target_gpus]

    def chunks(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(chunk.to(device) for chunk, device in zip(x.chunk(len(devices), dim), devices))

    return cut(inputs, chunks, len(devices))


def cut(value: Any, chunks: Callable[[torch.Tensor], Sequence[Any]], count: int) -> Sequence[Any]:
    """The nest with chunks(tensor) in place of each tensor, once for each chunk. Other objects are in all of them."""
    if isinstance(value, torch.Tensor):
        return chunks(value)
    if isinstance(value, dict) and value:
        items = zip(*(cut(item, chunks, count) for item in value.values()))
        return [type(value)(zip(value, item)) for item in items]
    if isinstance(value, (list, tuple)) and value:
        parts = zip(*(cut(part, chunks, count) for part in value))
        return [_sequence_like(value, part) for part in parts]
    return [value] * count


def _sequence_like(value: Any, parts: Any) -> Any:
    return value._make(parts) if hasattr(value, "_make") else type(value)(parts)


def gather(outputs: Sequence[Any], target_device: DeviceLike, dim: int = 0) -> Any:
    """Joins the tensors of the nests in `outputs` along `dim`, on one device or the host. Scalars become a vector.

    The nests are alike: what is no tensor in them must be a tuple, list or dict of tensors, or None. Gradients flow back.

    Raises InvalidArgument, which is a ValueError, if they are not.
    """
    return _join(outputs, torch_name(target_device), dim)


def _join(values: Sequence[Any], device: torch.device, dim: int) -> Any:
    first = values[0]
    if isinstance(first, torch.Tensor):
        here = [x.to(device) for x in values]
        return torch.stack(here) if all(x.dim() == 0 for x in here) else torch.cat(here, dim)
    if first is None:
        return None
    lengths = [len(value) for value in values]
    if lengths != [lengths[0]] * len(lengths):
        raise InvalidArgument(f"gather: a {type(first).__name__} has {lengths} entries on the devices; return as many everywhere")
    if isinstance(first, dict):
        return type(first)((key, _join([value[key] for value in values], device, dim)) for key in first)
    return _sequence_like(first, [_join(parts, device, dim) for parts in zip(*values)])


def replicate(network: nn.Module, devices: Sequence[DeviceLike], detach: bool = False) -> list[nn.Module]:
    """Copies of a module, one on each device; the one on the module's own device shares its memory.

    A backward through a copy adds to the gradients of the module's parameters, unless `detach` is set.
    """
    return [_replica(network, torch_name(device), detach) for device in devices]


class _Copy(torch.autograd.Function):
    """x.to(device), a view where x is there already. Its gradient may be sparse, which that of `to` may not."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, device: torch.device) -> torch.Tensor:
        ctx.home = x.device
        return x.view_as(x) if x.device == device else x.to(device)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradient.to(ctx.home), None


def _replica(module: nn.Module, device: torch.device, detach: bool) -> nn.Module:
    def parameter(x: torch.Tensor) -> torch.Tensor:
        return x.detach().to(device) if detach else _Copy.apply(x, device)

    def buffer(x: torch.Tensor) -> torch.Tensor:
        return parameter(x) if x.requires_grad else x.detach().to(device)

    return copy_parts(module, parameter, buffer)[id(module)]


def parallel_apply(
    modules: Sequence[nn.Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[DeviceLike] | None = None,
) -> list[Any]:
    """Calls each module with its inputs on its device, all at once.

    An input is a list or tuple of arguments, or the only one. The first error is raised again, and says in which replica
    and on which device.
    """
    indices = None if devices is None else [torch_name(device).index for device in devices]
    return nn.parallel.parallel_apply(modules, inputs, kwargs_tup, indices)


def data_parallel(
    module: nn.Module,
    inputs: Any,
    device_ids: Sequence[DeviceLike] | None = None,
    output_device: DeviceLike | None = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Scatters the inputs, runs a copy of the module on each device, and gathers the outputs."""
    if not isinstance(inputs, tuple):
        inputs = () if inputs is None else (inputs,)
    if device_ids is None:
        device_ids = range(torch.cuda.device_count() if numbers_are_gpus() else len(_core.default_devices()))
    devices = [torch_name(device) for device in device_ids]
    output = devices[0] if output_device is None else torch_name(output_device)
    check_home(tensors_of(module), devices[0])
    kwargs = module_kwargs or {}
    parts = scatter((inputs, kwargs), devices, dim) if inputs or kwargs else [((), {})]
    if len(devices) == 1:
        return module(*parts[0][0], **parts[0][1])
    devices = devices[: len(parts)]
    replicas = replicate(module, devices)
    own_inputs, own_kwargs = zip(*parts)
    outputs = parallel_apply(replicas, own_inputs, own_kwargs, devices)
    return gather(outputs, output, dim)
