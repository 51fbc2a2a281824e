# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
# Made by nanobind.stubgen of the extension module; tests/python/stubs_test.py compares.

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
