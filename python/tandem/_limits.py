# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Byte limits of GPUs, which PyTorch's allocator keeps."""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch

from tandem import _core
from tandem._devices import DeviceLike


def limit_gpus(devices: str | Sequence[DeviceLike] | None, names: list[str]) -> None:
    """Lets PyTorch reserve no more of each GPU than its logical devices may have together: 'cuda:0@4GiB,cuda:1x2@1GiB'. Only a text has limits.

    This holds for the process, as torch.cuda.set_per_process_memory_fraction does. A GPU that is listed without a limit keeps its own.
    """
    left = iter(names)
    for gpu, count in re.findall(r"cuda(?::(\d+)(?:x(\d+))?)?", devices) if isinstance(devices, str) else ():
        limits = [_core.limit(next(left)) for _ in range(int(count or 1))]
        nbytes = [limit for limit in limits if limit is not None]
        if nbytes:
            total = torch.cuda.get_device_properties(int(gpu or 0)).total_memory
            with torch.cuda.device(int(gpu or 0)):  # PyTorch 2.8 leaves this GPU the current one
                torch.cuda.set_per_process_memory_fraction(min(1.0, sum(nbytes) / total))
