# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Where a module must be for a program that lists device_ids, as for torch.nn.DataParallel."""

from collections.abc import Iterable, Iterator
from itertools import chain

import torch

from tandem.errors import InvalidArgument


def tensors_of(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    return chain(module.parameters(), module.buffers())


def check_home(tensors: Iterable[torch.Tensor], device: torch.device) -> None:
    """Raises InvalidArgument, which is a RuntimeError, for a tensor of a module that is not on `device`."""
    for x in tensors:
        if x.device != device:
            raise InvalidArgument(
                f"module must have its parameters and buffers on device {device} (device_ids[0]) but found one of them "
                f"on device: {x.device}; call module.to('{device}'), or give devices= in place of device_ids for a "
                "module that stays on the host"
            )
