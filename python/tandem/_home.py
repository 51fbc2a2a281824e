# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Where a module must be for a program that lists device_ids, as for torch.nn.DataParallel."""

from itertools import chain

import torch

from tandem.errors import InvalidArgument


def check_home(module: torch.nn.Module, device: torch.device) -> None:
    """Raises InvalidArgument, which is a RuntimeError, for a module with a tensor that is not on `device`."""
    for x in chain(module.parameters(), module.buffers()):
        if x.device != device:
            raise InvalidArgument(
                f"module must have its parameters and buffers on device {device} (device_ids[0]) but found one of them "
                f"on device: {x.device}; call module.to('{device}'), or give devices= in place of device_ids for a "
                "module that stays on the host"
            )
