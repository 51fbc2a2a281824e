# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""torch.utils.checkpoint in replicas: a generator's state that was read in a replica's forward knows the place there.

A checkpoint reads the state of the device's generator in forward, and sets it again before it computes again in backward. So
batch norms of the part see the rows of all replicas then, and masks by row are those of the forward.
"""

from __future__ import annotations

import functools

import torch

from tandem._with_torch import _torch

_PLACE = "_tandem_place"  # an attribute of a generator's state


def note_place(state: torch.Tensor) -> torch.Tensor:
    """The state, which knows where the calling thread is in a replica's forward."""
    place = _torch.forward_place()
    if place is not None:
        setattr(state, _PLACE, place)
    return state


def compute_from(state: torch.Tensor) -> None:
    """In a backward, the calling thread is where the state was read; in no replica if it was read in none."""
    _torch.recompute_from(getattr(state, _PLACE, None))


@functools.cache
def follow_checkpoints_of_gpus() -> None:
    """States of PyTorch's generators of GPUs know the place from now on."""
    read, write = torch.cuda.get_rng_state, torch.cuda.set_rng_state

    @functools.wraps(read)
    def get_rng_state(device: int | str | torch.device = "cuda") -> torch.Tensor:
        return note_place(read(device))

    @functools.wraps(write)
    def set_rng_state(new_state: torch.Tensor, device: int | str | torch.device = "cuda") -> None:
        write(new_state, device)
        compute_from(new_state)

    torch.cuda.get_rng_state, torch.cuda.set_rng_state = get_rng_state, set_rng_state
