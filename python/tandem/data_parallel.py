# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""torch.nn.DataParallel on persistent replicas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Unpack

import torch

from tandem import _core, torch_device
from tandem import _num_items_in_batch as num_items_in_batch
from tandem._copies import Copies
from tandem._devices import DeviceLike, library_name, numbers_are_gpus, output_name
from tandem._gpus import check_no_process_group, check_numbers
from tandem._home import check_home, check_supported, tensors_of
from tandem._limits import limit_gpus
from tandem._methods import Methods
from tandem._recomputation import follow_checkpoints_of_gpus
from tandem._with_torch import _torch
from tandem._wrapper_options import BalancedOptions, WrapperOptions, shows
from tandem.errors import InvalidArgument
from tandem.optimizer import Optimizer


def _update_of(optimizer: Optimizer | None) -> _torch.SharedUpdate | None:
    if optimizer is None or isinstance(optimizer, Optimizer):
        return None if optimizer is None else optimizer._update
    kind = type(optimizer).__name__
    raise InvalidArgument(
        f"DataParallel: {kind} keeps its state on the first device, where it is not measured; give "
        f"tandem.Optimizer(model, torch.optim.{kind}, ...) or None"
    )


class _Options(dict[str, Any]):
    """Options of a wrapper, which its copies share."""

    def __deepcopy__(self, memo: dict[int, Any]) -> _Options:
        return self


def _use_gpus() -> None:
    _torch.use_gpus()
    follow_checkpoints_of_gpus()


def _empty(kind: type[DataParallel], names: Sequence[str] = ()) -> DataParallel:
    """For copies and files, which give it its state, whose tensors may be on the devices of these names."""
    if any(name.startswith("cuda") for name in names):
        _use_gpus()
    else:
        torch_device.register_devices()
    return kind.__new__(kind)


def _are_gpus(module: torch.nn.Module, devices: str | Sequence[DeviceLike] | None) -> bool:
    """Whether devices are PyTorch's GPUs: by their names, or else by where the module is.

    For a module on the host they are, as for torch.nn.DataParallel, if there are GPUs and nobody has asked for virtual devices.
    """
    if isinstance(devices, str):
        return "cuda" in devices
    named = [torch.device(device).type for device in devices or () if not isinstance(device, int)]
    if named:
        return "cuda" in named
    first = next(tensors_of(module), None)
    if first is not None and first.device.type != "cpu":
        return first.device.type == "cuda"
    return numbers_are_gpus()


def devices_of(module: torch.nn.Module, devices: str | Sequence[DeviceLike] | None) -> tuple[str, list[str]]:
    """The kind of a wrapper's devices, 'cpu' or 'cuda', and their names; PyTorch's GPUs are made devices of type cuda."""
    kind = "cuda" if _are_gpus(module, devices) else "cpu"
    if kind == "cuda":
        check_supported(torch.device(kind))
        _use_gpus()
    else:
        _check_not_on_gpu(module)  # before virtual devices are registered, after which no backward of a GPU runs
    if isinstance(devices, str):
        return kind, _core.configure_devices(devices)
    if devices is None and kind == "cpu":
        return kind, _core.default_devices()
    given = range(torch.cuda.device_count()) if devices is None else devices
    if kind == "cuda":
        check_numbers([library_name(device, kind) for device in given if not isinstance(device, str)])
    return kind, [library_name(device, kind) for device in given]


def _check_not_on_gpu(module: torch.nn.Module) -> None:
    """Raises InvalidArgument for a module on a GPU, whose devices are to be virtual ones."""
    for x in islice(tensors_of(module), 1):
        if x.device.type == "cuda":
            raise InvalidArgument(
                f"DataParallel: devices are virtual ones, but the module is on {x.device}; call module.cpu() first, or name GPUs, "
                "such as devices='cuda:0,cuda:1'"
            )


class DataParallel(Methods):
    """Trains one module on several devices. An existing program changes one line.

    The module stays where it is, and keeps its parameters: optimizers made before or after go on. Each device has a copy
    of it from one call to the next, which follows the module.

    device_ids  as for torch.nn.DataParallel: the module has to be on the first of them, where outputs go too. A single
                one takes the module. Numbers are of GPUs where the module is on one, else of virtual devices.
    output_device  where outputs go in their place; "cpu" is PyTorch's own.
    devices     the same devices, or a text such as "cpu:4", for a module on the host or on the first of them. Outputs go
                where the module is. "cuda:0,cuda:1" are PyTorch's GPUs, where the module has to be. Without either there are
                all GPUs for a module on one, else all default devices.
    options     those of the C++ wrapper, by name: gpu0_bsz, chunks, chunk_sizes, accumulate, scalars and on_oom divide the
                batch; mode, batch_norm, dropout and unused_gradients say how it is trained; non_finite_loss,
                non_finite_gradients, check_drift_every, straggler_ratio and deadline are checks; backend, "local" or "nccl", moves
                sums between GPUs. help(tandem.data_parallel.WrapperOptions) says what each means.
    """

    @shows(WrapperOptions)
    def __init__(
        self,
        module: torch.nn.Module,
        device_ids: Sequence[int | torch.device] | None = None,
        output_device: DeviceLike | None = None,
        dim: int = 0,
        *,
        devices: str | Sequence[DeviceLike] | None = None,
        **options: Unpack[WrapperOptions],
    ) -> None:
        torch.nn.Module.__init__(self)
        self.module = module
        self.dim = dim
        for name, given in (("device_ids", device_ids), ("devices", devices)):
            if given is not None and len(given) == 0:
                raise InvalidArgument(
                    f"DataParallel: {name} is {given!r}, which lists no device; list one at least, or leave it out for all "
                    "default devices"
                )
        if devices is None:
            devices = device_ids
            if device_ids is not None and output_device is None:
                output_device = device_ids[0]
        elif device_ids is not None:
            raise ValueError("DataParallel: device_ids and devices name the same thing; give one of them")
        kind, names = devices_of(module, devices)
        self.device_ids = [int(name.rpartition(":")[2]) for name in names]
        output = None if output_device is None else output_name(output_device, kind)
        if output == "host":
            self.output_device = -1
        else:
            place = output or names[0]
            self.output_device = int(place.rpartition(":")[2]) if kind == "cpu" else _torch.gpu_of(place)
        if kind == "cpu":
            torch_device.register_devices()
        self._options = _Options({**options, "devices": names, "output_device": output, "dim": dim})
        self._check_backend()
        self._replicas = _torch.DataParallel(Copies(module), self._options)
        self._replicas.check()
        limit_gpus(devices, names)  # which outlasts a wrapper, so not before this one's options are known to be right
        asks_for_home = device_ids is not None or kind == "cuda"
        self._home = None
        if asks_for_home:
            self._home = torch.device("tandem", self.device_ids[0]) if kind == "cpu" else torch.device(kind, _torch.gpu_of(names[0]))
        if self._home is not None and len(names) == 1:
            module.to(self._home)

    @property
    def _scalars(self) -> str:
        """How outputs without dimensions are combined."""
        return self._options.get("scalars") or "stack"

    def extra_repr(self) -> str:
        """Devices, and how they train: what moves between them, and by what."""
        chosen = (f"{name}={self._options.get(name) or usual}" for name, usual in (("mode", "sharded"), ("backend", "local")))
        return f"devices={','.join(self._options['devices'])}, {', '.join(chosen)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _empty, (type(self), self._options["devices"]), self.__getstate__()

    def __getstate__(self) -> dict[str, Any]:
        """Without the replicas: a copy of the wrapper makes its own, of its own module."""
        return {name: value for name, value in self.__dict__.items() if name != "_replicas"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._replicas = _torch.DataParallel(Copies(self.module), self._options)

    def __copy__(self) -> DataParallel:
        """Of the same module, on the same replicas."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        self._check_call()
        if self._overrides():
            return self._forward_by_methods(inputs, kwargs)
        if kwargs.get(num_items_in_batch.NAME) is not None:
            kwargs = num_items_in_batch.for_replicas(self, inputs, kwargs)
        return self._replicas.forward(inputs, kwargs)

    def step(
        self,
        batch: Any,
        loss: Callable[[torch.nn.Module, Any], Any],
        optimizer: torch.optim.Optimizer | None = None,
    ) -> _torch.StepResult:
        """Forward, the loss in the replicas, backward, and the optimizer's update if there is one.

        Without an optimizer, gradients are added to those of the module's parameters. With one, they start from nothing.

        loss    loss(replica, part of the batch): a scalar tensor, which counts as the mean over the replica's rows, or a
                pair (sum, weight), which is exact in any chunks.
        """
        self._check_call()
        update = optimizer._update if isinstance(optimizer, Optimizer) else None
        result = self._replicas.step(batch, loss, optimizer, update)
        if optimizer is not None and not result.skipped:
            setattr(optimizer, "_opt_called", True)  # which schedulers ask for
        return result

    def step_model(
        self, batch: Any, loss: Callable[[torch.nn.Module, Any], Any], optimizer: Optimizer | None = None
    ) -> _core.StepModel:
        """Measures how much memory steps of any size need on each device. Nothing is trained, but gradients are dropped.

            needs = model.step_model(batch, loss, optimizer)
            print(needs.plan(256).rows, needs.largest_batch())

        batch      at least two rows for each device, ideally as large as those that you will ask about.
        optimizer  whose state counts: a tandem.Optimizer. PyTorch's own has its state on the first device, unseen here.

        It takes five to eight steps. On PyTorch's GPUs the peaks of torch.cuda.memory_stats() begin anew with each: there is one counter.
        """
        self._check_call()
        return self._replicas.step_model(batch, loss, optimizer, _update_of(optimizer))

    def find_largest_batch(
        self,
        make: Callable[[int], Any],
        loss: Callable[[torch.nn.Module, Any], Any],
        optimizer: Optimizer | None = None,
        *,
        most: int = 1 << 30,
    ) -> _core.LargestBatch:
        """The largest batch whose step fits the devices' limits. It was tried, and so was one with one more row.

        make       make(rows) returns a batch of that many rows.
        optimizer  whose state counts: a tandem.Optimizer.
        most       no batch larger than this is tried.

        Nothing is trained, but gradients are dropped. Raises InvalidArgument if a device of the host has no limit.
        """
        self._check_call()
        return self._replicas.find_largest_batch(make, loss, optimizer, _update_of(optimizer), most)

    def plan(self, rows: int) -> list[int]:
        """How many rows of a batch each device gets."""
        return self._replicas.plan(rows)

    def sync(self) -> None:
        """Reduces gradients that wait under no_sync and brings changed parameters and buffers to all devices, now.

        Calls do so themselves.
        """
        self._check_backend()
        self._replicas.sync()

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Until the end of the block gradients stay in the replicas. The next backward after it reduces all of them, and so
        does sync(). A program that accumulates over several batches moves its gradients once.

        Raises InvalidArgument if the module's tensors or parts are replaced within the block.
        """
        self._replicas.begin_no_sync()
        try:
            yield
        finally:
            self._replicas.end_no_sync()

    def _check_call(self) -> None:
        if torch._C._functorch.peek_interpreter_stack() is not None:
            raise InvalidArgument(
                "DataParallel: it was called inside a transform of torch.func, which does not go through scattered inputs; "
                "transform inside the module's forward, which runs in the replicas, or transform the module itself"
            )
        self._check_backend()
        if self._home is not None:  # the extension module refuses tensors that are elsewhere than the first one
            check_home(islice(tensors_of(self.module), 1), self._home)

    def _check_backend(self) -> None:
        if self._options.get("backend") == "nccl":
            check_no_process_group()


class BalancedDataParallel(DataParallel):
    """DataParallel whose first device gets `gpu0_bsz` rows of each batch."""

    @shows(BalancedOptions)
    def __init__(
        self,
        gpu0_bsz: int,
        module: torch.nn.Module,
        device_ids: Sequence[int | torch.device] | None = None,
        output_device: DeviceLike | None = None,
        dim: int = 0,
        *,
        devices: str | Sequence[DeviceLike] | None = None,
        **options: Unpack[BalancedOptions],
    ) -> None:
        super().__init__(module, device_ids, output_device, dim, devices=devices, gpu0_bsz=gpu0_bsz, **options)
