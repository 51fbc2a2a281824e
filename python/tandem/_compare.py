# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""One model, trained in several modes."""

from __future__ import annotations

import contextlib
import copy
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import nn

from tandem import _core, _gpu_record, torch_device
from tandem._batches import moved, rows_of
from tandem._ddp_processes import backend_for, train_with_ddp
from tandem._devices import DeviceLike
from tandem._gpus import check_apart
from tandem._limits import limit_gpus
from tandem._torch_peer import torch_data_parallel_on_virtual_devices
from tandem._with_torch import _torch
from tandem.data_parallel import DataParallel, devices_of
from tandem.errors import InvalidArgument
from tandem.optimizer import Optimizer

Loss = Callable[[nn.Module, Any], torch.Tensor]
Values = dict[str, torch.Tensor]

SINGLE, TORCH = "single", "torch"
MODES = (SINGLE, TORCH, *_torch.modes())
_TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-4}  # of docs/exactness.md


class _Run:
    """A copy of the model in one mode. step() makes a step, and returns its loss."""

    def __init__(
        self,
        mode: str,
        devices: list[torch.device],
        model: nn.Module,
        batch: Any,
        loss: Loss,
        kind: type[torch.optim.Optimizer],
        options: dict[str, Any],
    ) -> None:
        self.model = copy.deepcopy(model)
        self.mode, self.devices = mode, devices
        first = devices[0]
        if mode in (SINGLE, TORCH) or first.type == "cuda":
            self.model.to(first)
            batch = moved(batch, first)
        if mode in (SINGLE, TORCH):
            optimizer = kind(self.model.parameters(), **options)
            wrapped = self.model if mode == SINGLE else nn.DataParallel(self.model, [device.index for device in devices])

            def step() -> float:
                optimizer.zero_grad()
                value = loss(wrapped, batch)
                value.backward()
                optimizer.step()
                return float(value.detach())

        else:
            wrapper = DataParallel(self.model, devices=devices, mode=mode)
            shared = Optimizer(self.model, kind, **options)

            def step() -> float:
                return wrapper.step(batch, loss, shared).loss

        self.step = step

    def record(self) -> _core.Recording:
        """Of one more step; of two, on GPUs."""
        if self.devices[0].type == "cuda":
            return _gpu_record.record(self.step, [str(device) for device in self.devices])
        return _core.record(lambda: self.step())

    def wait(self) -> None:
        """For what GPUs still do."""
        for device in self.devices:
            if device.type == "cuda":
                torch.cuda.synchronize(device)

    def values(self) -> Values:
        return _on_host(self.model.state_dict())


def _on_host(state: Values) -> Values:
    return {name: x.detach().to("cpu", torch.float64, copy=True) for name, x in state.items()}


def _difference(values: Values, reference: Values) -> tuple[float, str]:
    """The measure of docs/exactness.md, and the tensor that it is of."""
    largest = max((x.abs().max().item() for x in reference.values() if x.numel()), default=0.0)
    worst = (0.0, "")
    for name, x in reference.items():
        if not x.numel():
            continue
        scale = max(x.abs().max().item(), 1e-3 * largest) or 1.0
        apart = (values[name] - x).abs().max().item() / scale
        worst = max(worst, (apart if math.isfinite(apart) else math.inf, name))
    return worst if worst[0] > 0 else (0.0, "")


@contextlib.contextmanager
def _torch_on_devices(mode: str, devices: list[torch.device]) -> Iterator[None]:
    is_virtual = devices[0].type == "tandem"
    with torch_data_parallel_on_virtual_devices() if mode == TORCH and is_virtual else contextlib.nullcontext():
        yield


class _Progress:
    """Tells on stderr how far a mode is."""

    def __init__(self, mode: str, steps: int, shown: bool) -> None:
        self.mode, self.steps, self.shown = mode, steps, shown

    def __call__(self, step: int) -> None:
        if self.shown:
            end = "\n" if step == self.steps else ""
            print(f"\r{self.mode}: step {step} of {self.steps}", end=end, file=sys.stderr, flush=True)


def _timed(run: _Run, steps: int, progress: _Progress) -> tuple[list[float], list[float]]:
    """Milliseconds and loss of each step."""
    times, losses = [], []
    for step in range(steps):
        begin = time.perf_counter()
        losses.append(run.step())
        run.wait()
        times.append(1e3 * (time.perf_counter() - begin))
        progress(step + 1)
    return times, losses


def compare(
    model: nn.Module,
    batch: Any,
    loss: Loss,
    optimizer: type[torch.optim.Optimizer] = torch.optim.SGD,
    *,
    devices: str | Sequence[DeviceLike] | None = None,
    modes: Sequence[str] = MODES,
    steps: int = 10,
    ddp_processes: int = 0,
    progress: bool | None = None,
    lr: float = 0.01,
    **options: Any,
) -> _core.Comparison:
    """Trains copies of a model on the same batch in each mode, and compares time, memory, traffic and weights.

        print(tandem.compare(model, (x, y), loss, torch.optim.AdamW, lr=1e-3))

    batch      what loss(model, batch) takes.
    loss       a scalar tensor, the mean over the batch's rows.
    devices    as for tandem.DataParallel: PyTorch's GPUs for a model on one, or by name, else the default devices.
    modes      'single' is one device, 'torch' torch.nn.DataParallel itself on the same devices, and the others are
               those of tandem.DataParallel. Weights are compared with those of the first mode.
    steps      that are timed; one more is recorded (on GPUs two), for memory by cause, time by phase and bytes by link.
    ddp_processes
               trains by DistributedDataParallel too, in that many processes, for time and weights: on GPUs with one for each over
               nccl, else on the host over gloo. The processes import the model's class and the loss.
    progress   whether steps are told on stderr; None: if it is a terminal.
    lr, options
               of the optimizer, by the names that its class has for them.

    What else is on the devices counts in their peaks. The model itself stays as it is. Dropout draws other masks in each
    mode: put the model into evaluation, or expect that the weights differ.

    Raises InvalidArgument for an unknown mode, for a model or loss that the processes cannot import, and for more processes than GPUs.
    """
    modes = [mode.removeprefix("dp-").replace("-", "_") for mode in modes]  # as the program spells them, too
    for mode in modes:
        if mode not in MODES:
            raise InvalidArgument(f"compare: there is no mode '{mode}'; there are {', '.join(MODES)}")
    if not modes or steps < 1:
        raise InvalidArgument(f"compare: modes are {list(modes)} and steps {steps}; give one of each at least")
    kind, names = devices_of(model, devices)
    check_apart(names, "compare")
    limit_gpus(devices, names)
    if kind == "cpu":
        torch_device.register_devices()
    places = [torch.device("tandem" if kind == "cpu" else kind, int(name.rpartition(":")[2])) for name in names]
    options["lr"] = lr
    dtype = next((x.dtype for x in model.parameters() if x.is_floating_point()), torch.get_default_dtype())
    name = str(dtype).removeprefix("torch.").replace("float", "f")
    tolerance = _TOLERANCES.get(dtype, 0.0)
    result = _core.Comparison(type(model).__name__, optimizer.__name__, name, rows_of(batch), steps, tolerance)
    tells = sys.stderr.isatty() if progress is None else progress
    reference: Values = {}
    for mode in modes:
        with _torch_on_devices(mode, places):
            run = _Run(mode, places, model, batch, loss, optimizer, options)
            times, losses = _timed(run, steps, _Progress(mode, steps, tells))
            values = run.values()
            recording = run.record()
        reference = reference or values
        rows = [rows_of(batch)] if mode == SINGLE else []
        if mode == TORCH:
            rows = _core.chunk_sizes(rows_of(batch), "torch chunk", devices=names)
        result.add_mode(mode, times, losses, *_difference(values, reference), rows, recording)
        del run
    if ddp_processes > 0:
        backend = backend_for(places)
        name = f"DDP over {backend} in {ddp_processes} processes"
        tell = _Progress(name, steps, tells)
        on = [place for place in places if place.type == "cuda"]
        trained = train_with_ddp(ddp_processes, on, backend, model, batch, loss, optimizer, options, steps, tell)
        result.add_peer(name, trained.step_ms, *_difference(_on_host(trained.values), reference))
    return result
