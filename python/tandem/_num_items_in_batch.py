# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The argument num_items_in_batch, by which models of Hugging Face divide the sum of a batch's losses.

A model that divides by it returns a share of the batch's loss from each replica; one that does not look at it returns the
mean over its rows. So that one rule is right for both, each replica gets the part of the number that its loss has in what
the losses are joined to: of the mean by rows its part of the rows. Then the losses of both are means.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from tandem._batches import rows_of
from tandem._devices import torch_devices
from tandem.marks import Each

if TYPE_CHECKING:
    from tandem.data_parallel import DataParallel

NAME = "num_items_in_batch"


def for_replicas(wrapper: DataParallel, inputs: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call with the number of each replica, where the losses become a mean."""
    items = kwargs[NAME]
    if isinstance(items, Each) or (isinstance(items, torch.Tensor) and items.dim() > 0):
        return kwargs
    others = {name: value for name, value in kwargs.items() if name != NAME}
    rows = rows_of((inputs, others), wrapper.dim)
    if not rows or wrapper._scalars not in ("mean", "weighted_mean"):
        return kwargs
    sizes = wrapper.plan(rows)
    active = sum(n > 0 for n in sizes)
    weights = [n / rows if wrapper._scalars == "weighted_mean" else 1 / active for n in sizes]
    return kwargs | {NAME: parts_of(wrapper, items, weights)}


def parts_of(wrapper: DataParallel, items: Any, weights: Sequence[float]) -> Each:
    """The number times each weight: tensors on the replicas' devices, in f64 if the module is, or plain numbers."""
    if not isinstance(items, torch.Tensor):
        return Each([items * weight for weight in weights])
    first = next(wrapper.module.parameters(), items)
    dtype = torch.float64 if first.dtype == torch.float64 else torch.float32
    items = items.double()
    return Each([(items * weight).to(place, dtype) for weight, place in zip(weights, torch_devices(wrapper._options["devices"]))])
