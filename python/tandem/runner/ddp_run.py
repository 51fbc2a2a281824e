# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""One run of a program up to a step, which is then made again in each way of training: by DataParallel, and by DDP's rules."""

from __future__ import annotations

import argparse
import contextlib
import copy
import gc
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch.utils._pytree import tree_leaves, tree_map

import tandem
from tandem import _num_items_in_batch as num_items_in_batch
from tandem._batches import rows_of
from tandem.errors import InvalidArgument
from tandem.runner.program import Ended
from tandem.runner.steps import Steps
from tandem.runner.virtual_cuda import cuda_as_virtual_devices
from tandem.runner.written import write

_MODES = ("single", "torch", "ddp", "sharded")
_STEPS = 5  # that are timed in each mode
_WRAPPERS = (nn.DataParallel, nn.parallel.DistributedDataParallel)


class Call:
    """A call of a model in training, with the gradients that its outputs got."""

    def __init__(self, model: nn.Module, inputs: Any, kwargs: Any) -> None:
        self.model = model.module if isinstance(model, _WRAPPERS) else model
        self.inputs, self.kwargs = inputs, kwargs
        self.gradients: dict[int, torch.Tensor] = {}  # by the output's place

    def watch(self, outputs: Any, unscaled: Callable[[torch.Tensor], torch.Tensor]) -> None:
        for place, x in enumerate(tree_leaves(outputs)):
            if isinstance(x, torch.Tensor) and x.requires_grad:
                x.register_hook(lambda gradient, place=place: self.gradients.__setitem__(place, unscaled(gradient.detach())))

    def trains(self, optimizer: torch.optim.Optimizer) -> bool:
        own = {id(p) for p in self.model.parameters()}
        return bool(self.gradients) and any(id(p) in own for group in optimizer.param_groups for p in group["params"])


class RecordedLoss:
    """A loss whose gradient at the model's outputs is the one that the program's own loss had. It counts as a mean over rows."""

    def __init__(self, rows: int, items: float | None) -> None:
        self.rows, self.items = rows, items  # of the batch: what the Trainer of Hugging Face lets its models divide by

    def _items_of(self, model: nn.Module, items: float, share: float) -> torch.Tensor:
        """By which a model's loss becomes a mean over its part of the rows; a row for each replica of torch.nn.DataParallel."""
        shares = [share]
        if isinstance(model, nn.DataParallel):
            shares = [len(chunk) / self.rows for chunk in torch.arange(self.rows).chunk(len(model.device_ids))]
        parts = torch.tensor([[items * part] for part in shares], device=next(model.parameters()).device)
        return parts if len(shares) > 1 else parts[0, 0]

    def __call__(self, model: nn.Module, batch: Any) -> torch.Tensor:
        (inputs, kwargs), gradients = batch
        share = (rows_of((inputs, kwargs)) or self.rows) / self.rows
        if self.items is not None:
            kwargs = kwargs | {num_items_in_batch.NAME: self._items_of(model, self.items, share)}
        outputs = tree_leaves(model(*inputs, **kwargs))
        terms = []
        for place, gradient in gradients.items():
            out = outputs[place]
            terms.append((out * gradient).sum() / share if isinstance(gradient, torch.Tensor) else out.mean() * gradient)
        return torch.stack(terms).sum()


class DdpRun:
    """Runs a program until its model has made the step that is wanted. `count` is of virtual devices; 0: the program has GPUs."""

    def __init__(self, options: argparse.Namespace, name: str, count: int) -> None:
        self._options, self._name = options, name
        self._devices = cuda_as_virtual_devices(count) if count else contextlib.nullcontext()
        self._kind, self._count = ("cpu", count) if count else ("cuda", torch.cuda.device_count())
        self._calls: list[Call] = []
        self._depth = 0
        self._scale = 1.0  # of the loss that is on its way back, by torch.amp.GradScaler
        self._steps = Steps(self._after_update)
        self._found: tuple[nn.Module, Any, RecordedLoss, type[torch.optim.Optimizer], dict[str, Any]] | None = None

    def around(self, call: Callable[[], object]) -> None:
        """Calls it, and tells how the step compares. What it raises comes out of here."""
        try:
            with (self._devices, self._steps, mock.patch.object(nn.Module, "__call__", self._called(nn.Module.__call__)),
                  mock.patch.object(torch.amp.GradScaler, "scale", self._scaled(torch.amp.GradScaler.scale))):
                call()
        except Ended:
            pass
        finally:
            if self._found is None:
                self._say(f"it made {self._steps.made} of {self._options.step} steps of an optimizer, so that none was compared; give a smaller "
                          "--step, or let it train for longer")
        if self._found is not None:
            self._compare(*self._found)

    def _compare(self, model: nn.Module, batch: Any, loss: RecordedLoss, optimizer: type[torch.optim.Optimizer], options: dict[str, Any]) -> None:
        _leave_devices()
        self._say(f"step {self._steps.made} of {type(model).__name__}, made again on one {'GPU' if self._kind == 'cuda' else 'virtual device'} (single) and on {self._count}: by "
                  "torch.nn.DataParallel (torch), in DDP's way (ddp), and so with divided optimizer state (sharded)")
        if any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in model.modules()):
            self._say("its batch norms have each replica's statistics in torch, and the batch's in the others, so that its weights differ")
        devices = f"cpu:{self._count}" if self._kind == "cpu" else ",".join(f"cuda:{i}" for i in range(self._count))
        result = tandem.compare(model, batch, loss, optimizer, devices=devices, modes=_MODES, steps=_STEPS, progress=False, **options)
        print(f"\n{result.text()}", file=sys.stderr, flush=True)
        write(self._options, result)

    def _say(self, what: str) -> None:
        print(f"{os.path.basename(self._name)}: {what}", file=sys.stderr, flush=True)

    def _called(self, own: Callable[..., Any]) -> Callable[..., Any]:
        def call(module: nn.Module, *inputs: Any, **kwargs: Any) -> Any:
            if self._depth or not torch.is_grad_enabled() or not any(p.requires_grad for p in module.parameters()):
                return own(module, *inputs, **kwargs)
            self._depth += 1
            try:
                outputs = own(module, *inputs, **kwargs)
            finally:
                self._depth -= 1
            self._calls.append(Call(module, inputs, kwargs))
            self._calls[-1].watch(outputs, self._unscaled)
            return outputs

        return call

    def _scaled(self, own: Callable[..., Any]) -> Callable[..., Any]:
        def scale(scaler: torch.amp.GradScaler, outputs: Any) -> Any:
            self._scale = scaler.get_scale()
            return own(scaler, outputs)

        return scale

    def _unscaled(self, gradient: torch.Tensor) -> torch.Tensor:
        """In 32 bits at least, as small ones are none in 16 bits without the scale."""
        return gradient if self._scale == 1.0 else gradient.to(torch.promote_types(gradient.dtype, torch.float32)) / self._scale

    def _after_update(self, optimizer: torch.optim.Optimizer) -> None:
        if self._steps.made == self._options.step:
            self._found = self._step_of(optimizer)
            self._calls.clear()
            raise Ended(0)
        self._calls.clear()
        self._scale = 1.0

    def _step_of(self, optimizer: torch.optim.Optimizer) -> Any:
        """A copy on the host: nothing of the program stays on the devices."""
        calls = [call for call in self._calls if call.trains(optimizer)]
        if not calls:
            raise InvalidArgument(f"{self._options.command}: --compare-ddp: no call of a module gave gradients to what the optimizer trains; it sees modules that "
                                  "are called, model(x), and not model.forward(x)")
        call = calls[-1]
        kwargs = dict(call.kwargs)
        items = kwargs.pop(num_items_in_batch.NAME, None)
        items = items.flatten()[0].item() if isinstance(items, torch.Tensor) else items
        inputs = tree_map(lambda x: x.detach().cpu() if isinstance(x, torch.Tensor) else x, (call.inputs, kwargs))
        rows = rows_of(inputs)
        if rows < self._count:
            raise InvalidArgument(f"{self._options.command}: --compare-ddp: the batch of {type(call.model).__name__} has {rows} rows, and there are {self._count} "
                                  f"devices; give --devices cpu:{max(rows, 1)}, or the program a larger batch")
        # What has no rows is a mean, of which each replica has its own.
        gradients = {place: x.cpu() if x.dim() and len(x) == rows else x.sum().item() for place, x in call.gradients.items()}
        return copy.deepcopy(call.model).cpu(), (inputs, gradients), RecordedLoss(rows, items), type(optimizer), _options_of(optimizer)


def _leave_devices() -> None:
    """What a program that has ended still holds, as the globals of its file, goes to the host."""
    gc.collect()
    for held in gc.get_objects():
        if issubclass(type(held), torch.optim.Optimizer):
            held.state.clear()
            held.param_groups.clear()
        elif issubclass(type(held), nn.Module):
            held.cpu().zero_grad()


def _options_of(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """What it was made with, but for what is as it is by default. The rate is always there, as tandem.compare has a default of its own."""
    known = inspect.signature(type(optimizer).__init__).parameters
    given = {name: value for name, value in optimizer.param_groups[0].items() if name in known and name != "params"}
    return {name: float(value) if isinstance(value, torch.Tensor) else value for name, value in given.items() if name == "lr" or value != known[name].default}
