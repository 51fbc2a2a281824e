# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Where tandem waits for GPUs, by the names of its functions, and how to leave such a wait out."""

import bisect
import collections
import ctypes
import functools
import re
import subprocess

from control import LIBRARY

# Functions through which others wait.
MEANS = re.compile(
    r"\btandem::(libtorch::)?("
    r"TorchEvent::|TorchPoint::|TorchStream::|Torch(Gpus|Gpu)::copy_between|Event::|Stream::|StreamClock|GpuStream::"
    r"|(.*::)?poll<|poll\(|call_gpu|wait_stream|(\(anonymous namespace\)::)?(wait_for|copy_here|call_gpu|poll)\b)"
    r"|^c10::|^at::|^std::|^decltype")

LIBRARY.stand_in_wait_sites.restype = ctypes.c_char_p


class Symbols:
    """Names of a library's functions."""

    def __init__(self, library):
        listed = subprocess.run(["nm", "-C", "--defined-only", library], capture_output=True, text=True, check=True).stdout
        found = sorted((int(line[:16], 16), line[19:]) for line in listed.splitlines() if line[17] in "tTwW")
        self.begins, self.names = [begin for begin, _ in found], [name for _, name in found]

    def name(self, offset):
        # A return address lies behind the call, which may be the last thing that a function does.
        i = bisect.bisect_right(self.begins, offset - 1) - 1
        return self.names[i] if i >= 0 else "?"


@functools.cache
def symbols(library):
    return Symbols(library)


def name_of(address):
    library, _, offset = address.rpartition("+")
    return symbols(library).name(int(offset, 16))


def is_tandems(address):
    return bool(re.search(r"/(libtandem|_torch\.|_core\.)[^/]*$", address)) and "/stand_in/" not in address


def is_of_an_interface(address):
    """Whether it lies where PyTorch's streams and events for any device become CUDA's: not in its allocator."""
    return "/libc10" in address and "CUDAGuardImpl" in name_of(address)


class WaitPlace:
    """A function's call that waits. It may be reached in several ways.

    name     the function.
    """

    def __init__(self, call, addresses, name):
        self.call, self.addresses, self.name = call, addresses, name
        self.numbers = []  # of the stand-in's places

    def __repr__(self):
        return f"{self.call} in {self.name} ({self.addresses[-1].rpartition('/')[2]})"

    def leave_out(self):
        assert LIBRARY.stand_in_leave_out(self.numbers[0], len(self.addresses))


def leave_out_none():
    LIBRARY.stand_in_leave_out(0, 0)


def note_waits(on):
    LIBRARY.stand_in_note_waits(int(on))


def places():
    """[WaitPlace], those that were noted so far. A wait of PyTorch's own ops is none of them."""
    found = collections.OrderedDict()
    for number, line in enumerate(LIBRARY.stand_in_wait_sites().decode().splitlines()):
        call, *addresses = line.split()
        first = next((i for i, a in enumerate(addresses) if "/libc10" not in a), None)
        if first is None or not is_tandems(addresses[first]) or not any(map(is_of_an_interface, addresses[:first])):
            continue
        last = next((i for i in range(first, len(addresses)) if is_tandems(addresses[i]) and not MEANS.search(name_of(addresses[i]))), None)
        if last is None:
            last = len(addresses) - 1
        key = call, tuple(addresses[: last + 1])
        found.setdefault(key, WaitPlace(call, addresses[: last + 1], name_of(addresses[last]))).numbers.append(number)
    return list(found.values())
