# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The methods that torch.nn.DataParallel is made of, for classes that override one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tandem._devices import DeviceLike, torch_name
from tandem._gpus import check_apart
from tandem._home import check_home, tensors_of

_NAMES = ("scatter", "replicate", "parallel_apply", "gather")


class Methods(torch.nn.DataParallel[Any]):
    """The four steps of a forward as torch.nn.DataParallel takes them, on virtual devices.

    A class that overrides one of them is called by way of all four. A replica is then a copy of one call.
    """

    _home: torch.device | None
    _options: dict[str, Any]

    def plan(self, rows: int) -> list[int]:
        raise NotImplementedError

    def scatter(self, inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, device_ids: Sequence[DeviceLike]) -> Any:
        """A tuple of arguments and a dict of named ones for each chunk, as the options divide a batch."""
        from tandem import parallel

        devices = [torch_name(device) for device in device_ids]

        def chunks(x: torch.Tensor) -> list[torch.Tensor]:
            if len(devices) == len(self.device_ids):
                parts = x.split([size for size in self.plan(x.shape[self.dim]) if size > 0], self.dim)
            else:
                parts = x.chunk(len(devices), self.dim)
            return [part.to(device) for part, device in zip(parts, devices)]

        parts = parallel.cut((inputs, kwargs or {}), chunks, len(devices)) if inputs or kwargs else []
        return tuple(part[0] for part in parts), tuple(part[1] for part in parts)

    def replicate(self, module: torch.nn.Module, device_ids: Sequence[DeviceLike]) -> list[torch.nn.Module]:
        from tandem import parallel

        return parallel.replicate(module, device_ids, not torch.is_grad_enabled())

    def parallel_apply(self, replicas: Sequence[torch.nn.Module], inputs: Sequence[Any], kwargs: Any) -> list[Any]:
        from tandem import parallel

        return parallel.parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])

    def gather(self, outputs: Any, output_device: DeviceLike) -> Any:
        from tandem import parallel

        return parallel.gather(outputs, output_device, self.dim)

    def _overrides(self) -> bool:
        """Whether its class, or the object itself, has another one of the methods."""
        kind = type(self)
        return any(getattr(kind, name) is not getattr(Methods, name) or name in self.__dict__ for name in _NAMES)

    def _forward_by_methods(self, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._home is not None:
            check_apart(self._options["devices"], "DataParallel: its class has a method of torch.nn.DataParallel's of its own")
            check_home(tensors_of(self.module), self._home)
        own_inputs, own_kwargs = self.scatter(inputs, kwargs, self.device_ids)
        if not own_inputs and not own_kwargs:
            own_inputs, own_kwargs = ((),), ({},)
        replicas = self.replicate(self.module, self.device_ids[: len(own_inputs)])
        outputs = self.parallel_apply(replicas, own_inputs, own_kwargs)
        first = next(tensors_of(self.module), None)
        on_gpus = self._home is not None and self._home.type == "cuda"
        stays = self._options["output_device"] is None and not on_gpus and (first is None or first.device.type == "cpu")
        return self.gather(outputs, -1 if stays else self.output_device)  # -1 is the host
