# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The GPUs of PyTorch behind a wrapper's devices."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from tandem._with_torch import _torch
from tandem.errors import InvalidArgument


def check_apart(names: Sequence[str], what: str) -> None:
    """Raises InvalidArgument where two devices are on one GPU ('cuda:0x2'), for what has to tell their work apart."""
    first: dict[int, str] = {}
    for name in names if torch.device(names[0]).type == "cuda" else ():
        other = first.setdefault(_torch.gpu_of(name), name)
        if other != name:
            raise InvalidArgument(
                f"{what}: {other} and {name} are devices of GPU {_torch.gpu_of(name)}, whose work and memory PyTorch does not tell "
                "apart; give each a GPU"
            )
