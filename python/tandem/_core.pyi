# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
# Made by nanobind.stubgen of the extension module; tests/python/stubs_test.py compares.

from collections.abc import Callable, Sequence


torch_version: str = '2.15.0'

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

class Recording:
    """What the default devices did in some steps."""

class Comparison:
    """How a model trains in several modes."""

    def __init__(self, model: str, optimizer: str, dtype: str, batch: int, steps: int, tolerance: float) -> None: ...

    def add_mode(self, name: str, step_ms: Sequence[float], losses: Sequence[float], difference: float, worst_tensor: str, recording: Recording) -> None: ...

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

    def __str__(self) -> str: ...

class Memory:
    """What filled each device at its peak, and why."""

    def text(self) -> str: ...

    def json(self) -> str:
        """One JSON object, with a schema_version."""

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
