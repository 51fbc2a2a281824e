# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""For programs that wrap their module by themselves."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Iterator
from typing import Any, Unpack

import torch
from torch import nn

from tandem import _num_items_in_batch as num_items_in_batch
from tandem._batches import rows_of, with_own_chunks
from tandem._devices import torch_devices
from tandem._wrapper_options import ReplacementOptions, shows
from tandem.data_parallel import DataParallel

# torch.nn.parallel.data_parallel is a function, which hides the module of that name.
_PLACES = (nn, nn.parallel, importlib.import_module("torch.nn.parallel.data_parallel"))

_MULTIPLIED = (
    "DataParallel: the Trainer computes this loss itself (label_smoothing_factor or compute_loss_func), and multiplies it by the {n} devices, "
    "as it does with torch.nn.DataParallel: its gradients are {n} times those of one device. For those of one device wrap the model yourself: "
    "arguments._n_gpu = 1, and trainer.model_wrapped = tandem.DataParallel(model, scalars='weighted_mean')"
)


class _Replacement(DataParallel):
    """A DataParallel that splits each tensor by itself, as torch.nn.DataParallel does."""

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        items = kwargs.pop(num_items_in_batch.NAME, None)
        rows = rows_of((inputs, kwargs), self.dim)
        places = torch_devices(self._options["devices"])
        inputs, kwargs = with_own_chunks((inputs, kwargs), self.dim, rows, self.plan, places)
        if items is not None:
            kwargs[num_items_in_batch.NAME] = items
        if not rows or not isinstance(items, torch.Tensor) or items.dim() == 0:
            return super().forward(*inputs, **kwargs)
        weights = [n / rows for n in self.plan(rows)]
        kwargs[num_items_in_batch.NAME] = num_items_in_batch.parts_of(self, items[:1], weights)
        outputs = super().forward(*inputs, **kwargs)
        if kwargs.get("labels") is None and torch.is_grad_enabled():
            warnings.warn(_MULTIPLIED.format(n=len(items)), stacklevel=2)
        if kwargs.get("labels") is None or self._scalars != "stack":
            return outputs
        # The Trainer of Hugging Face takes the mean over the replicas, times the devices that the number has a row for.
        own = [weight for weight in weights if weight]
        return _with_weighted_loss(outputs, [weight * len(own) / len(items) for weight in own])


def _with_weighted_loss(outputs: Any, weights: list[float]) -> Any:
    """The outputs of a model, whose losses, one for each replica, are multiplied by the weights."""

    def weighted(loss: Any) -> Any:
        if not isinstance(loss, torch.Tensor) or loss.dim() == 0 or loss.numel() != len(weights):
            return loss
        shares = torch.tensor(weights, dtype=loss.dtype).to(loss.device, non_blocking=True)  # or the host would wait for the GPU
        return loss * shares.view(loss.shape)

    if isinstance(outputs, dict) and "loss" in outputs:
        outputs["loss"] = weighted(outputs["loss"])
    elif type(outputs) is tuple and outputs:
        outputs = (weighted(outputs[0]), *outputs[1:])
    return outputs


@contextlib.contextmanager
@shows(ReplacementOptions)
def replace_data_parallel(**options: Unpack[ReplacementOptions]) -> Iterator[None]:
    """Until the end of the block torch.nn.DataParallel(module) makes a tandem.DataParallel, with these options.

        with tandem.replace_data_parallel(gpu0_bsz=40):
            train()                     # which calls torch.nn.DataParallel(model)

    Options that the program gives itself take precedence. The wrappers that it made stay what they are after the block.
    The name is replaced for the whole process; what was imported from torch.nn before the block is not. A tensor with
    another number of rows than the first one is split by itself, as torch.nn.DataParallel does.
    """

    class Replacement(_Replacement):
        def __init__(self, module: nn.Module, *args: Any, **kwargs: Any) -> None:
            super().__init__(module, *args, **{**options, **kwargs})

        def __reduce__(self) -> tuple[Any, ...]:
            make, (kind, devices), state = super().__reduce__()
            return make, (DataParallel if kind is Replacement else kind, devices), state

    before = [place.DataParallel for place in _PLACES]
    for place in _PLACES:
        setattr(place, "DataParallel", Replacement)
    try:
        yield
    finally:
        for place, name in zip(_PLACES, before):
            setattr(place, "DataParallel", name)
