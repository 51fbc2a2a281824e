# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
# Made by nanobind.stubgen of the extension module; tests/python/stubs_test.py compares.

from collections.abc import Callable, Sequence

import tandem._core


def register_devices(count: int) -> None: ...

def registered_devices() -> int: ...

def gpu_of(device: str) -> int:
    """The GPU of a device of type cuda: 1 of 'cuda:0' among 'cuda:1x2'."""

def use_gpus() -> None:
    """
    PyTorch's GPUs become devices of type cuda. Not in a process with virtual devices.
    """

def default_generator(device: int) -> object:
    """A virtual device's torch.Generator."""

def modes() -> list[str]:
    """The modes of DataParallel that modules of PyTorch can have, by name."""

class ForwardPlace:
    """A place in a replica's forward."""

def forward_place() -> ForwardPlace: ...

def recompute_from(place: ForwardPlace | None) -> None:
    """From now on this thread of a backward computes from there again."""

def with_gpu_ops(step: Callable[[], object]) -> None:
    """
    Calls step(), and tells observers of PyTorch's ops on GPUs, in all threads.
    """

def with_transfers(sent: Sequence[tuple[int, int, int]], are_gradients: bool, call: Callable[[], object]) -> object:
    """
    The result of call(), which sends parameters or gradients: (GPU, GPU, bytes) each.
    """

class SharedUpdate:
    """The update of a tandem.Optimizer."""

    def __init__(self, kind: str) -> None: ...

    def is_attached(self, optimizer: object) -> bool:
        """Whether a wrapper that lives has updated by it."""

    def step(self, optimizer: object) -> None:
        """Updates with the gradients that the parameters have."""

    def store(self, optimizer: object) -> None:
        """Copies the devices' state to the optimizer."""

    def restore(self, optimizer: object) -> None:
        """Copies the optimizer's state to the devices."""

class StepResult:
    """The loss of a step, and what else it reports."""

    @property
    def loss(self) -> float: ...

    @property
    def weight(self) -> float: ...

    @property
    def rows(self) -> list[int]: ...

    @property
    def skipped(self) -> bool: ...

class DataParallel:
    def __init__(self, copies: object, options: dict[str, object]) -> None: ...

    def check(self) -> None: ...

    def forward(self, positional: object, named: object) -> object: ...

    def step(self, batch: object, loss: object, optimizer: object | None, update: SharedUpdate | None) -> StepResult: ...

    def step_model(self, batch: object, loss: object, optimizer: object | None, update: SharedUpdate | None) -> tandem._core.StepModel: ...

    def find_largest_batch(self, make: object, loss: object, optimizer: object | None, update: SharedUpdate | None, most: int) -> tandem._core.LargestBatch: ...

    def plan(self, rows: int) -> list[int]: ...

    def sync(self) -> None: ...

    def begin_no_sync(self) -> None: ...

    def end_no_sync(self) -> None: ...
