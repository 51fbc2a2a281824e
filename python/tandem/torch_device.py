# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Virtual devices as devices of PyTorch: this module is torch.tandem, with the functions of torch.cuda."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable
from typing import Any, cast

import torch
from torch.utils import backend_registration

from tandem import _core
from tandem._recomputation import compute_from, note_place
from tandem._with_torch import _torch

_LEAST = 8  # so that torch.device("tandem:3") names one where none were configured

Device = int | str | torch.device | None


def register_devices(count: int | None = None) -> int:
    """Makes `count` virtual devices devices of PyTorch: torch.device("tandem:3") is cpu:3.

    tandem.DataParallel does so by itself. Without a number there are as many as the default devices, and at least 8.
    Returns how many are registered. A call may follow with more, but not beside a backward on another thread; one with
    as many or fewer does nothing.
    """
    registered: int = _torch.registered_devices()
    if count is None:
        count = max(_LEAST, len(_core.default_devices()))
    _torch.register_devices(count)
    if registered == 0:
        torch._register_device_module("tandem", sys.modules[__name__])
        backend_registration.generate_methods_for_privateuse1_backend(for_storage=True)
    return int(_torch.registered_devices())


def _index(device: Device = None) -> int:
    if device is None:
        return current_device()
    if isinstance(device, int):
        return device
    index = torch.device(device).index
    return current_device() if index is None else index


def _name(device: Device = None) -> str:
    return f"cpu:{_index(device)}"


_initialized = True  # as torch.utils.checkpoint asks before it keeps the state of generators


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return True


def _is_in_bad_fork() -> bool:
    return False


def _lazy_init() -> None:
    pass


def device_count() -> int:
    return int(_torch.registered_devices())


def current_device() -> int:
    return int(torch.accelerator.current_device_index())


def set_device(device: Device) -> None:
    torch.accelerator.set_device_index(_index(device))


def get_device_name(device: Device = None) -> str:
    return f"virtual device {_name(device)}"


def synchronize(device: Device = None) -> None:
    """Does nothing: kernels have ended when their calls return."""


class device(contextlib.ContextDecorator):
    """Makes a device the current one until the end of the block."""

    def __init__(self, device: Device):
        self._device = _index(device)

    def __enter__(self) -> None:
        self._before = current_device()
        set_device(self._device)

    def __exit__(self, *_: Any) -> None:
        set_device(self._before)


class device_of(device):
    """Makes the device of a tensor the current one; of another tensor it changes nothing."""

    def __init__(self, x: torch.Tensor):
        super().__init__(x.get_device() if x.device.type == "tandem" else None)


def memory_allocated(device: Device = None) -> int:
    """Bytes in use, as requested."""
    return _core.memory_stats(_name(device)).in_use


def max_memory_allocated(device: Device = None) -> int:
    """The most bytes in use since reset_peak_memory_stats."""
    return _core.memory_stats(_name(device)).peak


def reset_peak_memory_stats(device: Device = None) -> None:
    _core.reset_peak(_name(device))


def empty_cache() -> None:
    _core.release_cached()


def _generator(device: Device = None) -> torch.Generator:
    return cast(torch.Generator, _torch.default_generator(_index(device)))


def manual_seed(seed: int) -> None:
    _generator().manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    for index in range(device_count()):
        _generator(index).manual_seed(seed)


def get_rng_state(device: Device = None) -> torch.Tensor:
    """In a replica's forward the state knows the place, so that torch.utils.checkpoint computes from there again."""
    return note_place(_generator(device).get_state())


def set_rng_state(state: torch.Tensor, device: Device = None) -> None:
    _generator(device).set_state(state)
    compute_from(state)


def get_rng_state_all() -> list[torch.Tensor]:
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(states: Iterable[torch.Tensor]) -> None:
    for index, state in enumerate(states):
        set_rng_state(state, index)


def get_amp_supported_dtype() -> list[torch.dtype]:
    """What autocast lowers products to."""
    return [torch.bfloat16, torch.float16]


def is_bf16_supported() -> bool:
    return True
