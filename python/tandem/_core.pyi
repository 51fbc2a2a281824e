# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
# Made by nanobind.stubgen of the extension module; tests/python/stubs_test.py compares.

from collections.abc import Callable, Sequence


version: str = '0.1.0'

class MemoryStats:
    """What a device holds, in bytes as requested."""

    @property
    def in_use(self) -> int: ...

    @property
    def peak(self) -> int:
        """The highest in_use since the last reset_peak."""

    @property
    def allocations(self) -> int: ...

    @property
    def by_category(self) -> dict[str, int]: ...

    @property
    def peak_by_category(self) -> dict[str, int]: ...

def configure_devices(list: str) -> list[str]:
    """
    Makes the devices of a list, such as 'cpu:4@512MiB', the default, and returns their names.
    """

def default_devices() -> list[str]:
    """Names of the default devices."""

def memory_stats(device: str) -> MemoryStats:
    """What a device holds: memory_stats('cpu:1')."""

def reset_peak(device: str) -> None: ...

def release_cached() -> None:
    """Returns the default devices' free blocks to the system."""

def limit(device: str) -> int | None:
    """A device's limit in bytes; None: it has none."""

def set_limit(device: str, nbytes: int | None) -> None: ...

class Tensor:
    """
    A tensor of tandem on a host device. numpy.from_dlpack(x) and torch.from_dlpack(x) share its memory.
    """

    @property
    def shape(self) -> list[int]: ...

    @property
    def dtype(self) -> str: ...

    @property
    def device(self) -> str: ...

    def __dlpack__(self, *, stream: object | None = None, max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...

def from_dlpack(x: object, device: str = 'cpu:0') -> Tensor:
    """
    A tensor over the memory of NumPy's, PyTorch's or another library's, without a copy.

    The memory lives until the tensors of both have gone.
    """

class DeviceNeed:
    """
    What a device needs in a step, in bytes: fixed + per_row * its rows + per_batch_row * the batch's rows.
    """

    def __init__(self, device: str, fixed: float, per_row: float, per_batch_row: float = 0, limit: int | None = None) -> None: ...

    @property
    def device(self) -> str: ...

    @property
    def fixed(self) -> float: ...

    @property
    def per_row(self) -> float: ...

    @property
    def per_batch_row(self) -> float: ...

    @property
    def limit(self) -> int | None: ...

class StepPlan:
    """Rows for each device, and the predicted memory."""

    @property
    def rows(self) -> list[int]: ...

    @property
    def peak_bytes(self) -> list[int]: ...

    @property
    def ms(self) -> list[float]:
        """Forward and backward of each device; 0 if it was not measured."""

    @property
    def imbalance(self) -> float:
        """The first device's peak over the mean peak of the others."""

class StepModel:
    """
    What steps of any size need on each device: measured by DataParallel.step_model, or made of figures.
    """

    def __init__(self, needs: Sequence[DeviceNeed]) -> None: ...

    @property
    def needs(self) -> list[DeviceNeed]: ...

    def predict(self, rows: Sequence[int]) -> StepPlan:
        """What a division of a batch needs: one number of rows for each device."""

    def plan(self, rows: int, goal: object = 'least peak') -> StepPlan:
        """
        The division that serves the goal best within all limits: 'least peak' or 'least time'.
        """

    def largest_batch(self) -> int | None:
        """The most rows that fit within all limits. None: there is no limit."""

class LargestBatch:
    """The largest batch whose step fits."""

    @property
    def rows(self) -> int:
        """0: not even one row fits."""

    @property
    def chunk_sizes(self) -> list[int]: ...

    @property
    def peak_bytes(self) -> list[int]: ...

    @property
    def tries(self) -> int: ...

    @property
    def is_largest(self) -> bool:
        """False: larger batches may fit, but `most` ended the search."""

def chunk_sizes(rows: int, chunks: object | None = None, *, gpu0_bsz: int | None = None, devices: Sequence[str] | None = None) -> list[int]:
    """
    How many of a batch's rows each device gets; without devices, of the default ones.

    chunks    'even', 'torch chunk' (as torch.nn.DataParallel), 'free memory', a list of sizes or
              of weights, or a StepModel.
    gpu0_bsz  rows of the first device; the others get the same.
    """

class Recording:
    """What the devices did in some steps."""

    def set_memory(self, told: str) -> None:
        """Takes what PyTorch's allocator has told of GPUs, as JSON."""

class Comparison:
    """How a model trains in several modes."""

    def __init__(self, model: str, optimizer: str, dtype: str, batch: int, steps: int, tolerance: float) -> None: ...

    def add_mode(self, name: str, step_ms: Sequence[float], losses: Sequence[float], difference: float, worst_tensor: str, rows: Sequence[int], recording: Recording) -> None: ...

    def add_peer(self, name: str, step_ms: Sequence[float], difference: float, worst_tensor: str) -> None: ...

    def text(self, details: bool = False) -> str:
        """
        A table of the modes; with details also memory, time and links of each.
        """

    def json(self) -> str:
        """One JSON object, with a schema_version."""

    def html(self) -> str:
        """A page that needs nothing else, for a file."""

    def __str__(self) -> str: ...

class Explanation:
    """What a step did, on which device and link."""

    def text(self) -> str: ...

    def json(self) -> str:
        """One JSON object, with a schema_version."""

    def html(self) -> str:
        """A page that needs nothing else, for a file."""

    def __str__(self) -> str: ...

    def trace(self) -> str:
        """The step's work and transfers for ui.perfetto.dev, as JSON for a file."""

class Memory:
    """What filled each device at its peak, and why."""

    def text(self) -> str: ...

    def json(self) -> str:
        """One JSON object, with a schema_version."""

    def html(self) -> str:
        """A page that needs nothing else, for a file."""

    def __str__(self) -> str: ...

def record(step: Callable[[], object], steps: int = 1) -> Recording: ...

def explain(step: Callable[[], object]) -> Explanation:
    """
    Calls step(), and tells what it did: explain(lambda: model.step(batch, loss, optimizer)).

    All threads are seen, so let nothing else run meanwhile.
    """

def memory(step: Callable[[], object]) -> Memory:
    """
    Calls step(), and tells what filled each of the default devices at its peak.
    """

class BufferLog:
    """The buffers of tandem on GPUs, from now on."""

    def __init__(self) -> None: ...

    def stop(self) -> list[tuple[int, int, int, str, str, list[tuple[str, int]]]]:
        """
        Microseconds since 1970, GPU, address, category, phase, and the bytes of each module.
        """
