#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Asks CUDA's driver which GPUs a program would see, and prints JSON. It needs no toolkit and no build.

The driver is asked in a process of its own, which obeys CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER as tandem
does, and which may hang or crash.
"""

import ctypes
import json
import os
import subprocess
import sys

LIBRARY = "libcuda.so.1"
ATTRIBUTES = {"multiprocessors": 16, "clock_khz": 13, "memory_clock_khz": 36, "memory_bus_bits": 37,
              "compute_mode": 20, "pools": 115}
MAJOR, MINOR = 75, 76


class DriverError(Exception):
    """A call of the driver failed."""


class Driver:
    """The calls of the driver that are needed."""

    def __init__(self):
        self.library = ctypes.CDLL(LIBRARY)

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise DriverError(f"{name} says {self.name_of(status)}")

    def name_of(self, status):
        text = ctypes.c_char_p()
        known = self.library.cuGetErrorName(status, ctypes.byref(text)) == 0 and text.value
        return text.value.decode() if known else f"status {status}"

    def number(self, name, *arguments):
        value = ctypes.c_int()
        self.call(name, ctypes.byref(value), *arguments)
        return value.value

    def attribute(self, device, attribute):
        return self.number("cuDeviceGetAttribute", attribute, device)

    def text(self, name, device):
        buffer = ctypes.create_string_buffer(256)
        self.call(name, buffer, len(buffer), device)
        return buffer.value.decode()

    def gpu(self, device):
        nbytes = ctypes.c_size_t()
        self.call("cuDeviceTotalMem_v2", ctypes.byref(nbytes), device)
        return {"name": self.text("cuDeviceGetName", device), "pci": self.text("cuDeviceGetPCIBusId", device),
                "compute_capability": f"{self.attribute(device, MAJOR)}.{self.attribute(device, MINOR)}",
                "memory_mib": nbytes.value // 2**20,
                **{name: self.attribute(device, number) for name, number in ATTRIBUTES.items()}}

    def peers(self, devices):
        """Which GPU may read which other's memory, as the driver says: a row of 0 and 1 for each."""
        return [[int(a == b or self.number("cuDeviceCanAccessPeer", a, b)) for b in devices] for a in devices]


def describe():
    """{"cuda": "13.0", "gpus": [...], "peers": [...], "error": ""}; what is not known is absent."""
    found = {"gpus": [], "error": ""}
    try:
        driver = Driver()
        version = driver.number("cuDriverGetVersion")
        found["cuda"] = f"{version // 1000}.{version % 1000 // 10}"
        driver.call("cuInit", 0)
        devices = [driver.number("cuDeviceGet", i) for i in range(driver.number("cuDeviceGetCount"))]
        found["gpus"] = [driver.gpu(device) for device in devices]
        found["peers"] = driver.peers(devices)
    except OSError as e:
        found["error"] = f"the driver's library cannot be loaded: {e}"
    except (DriverError, AttributeError) as e:
        found["error"] = str(e)
    return found


def ask(environment):
    """What `describe` says in a process with `environment` besides ours."""
    try:
        done = subprocess.run([sys.executable, "-B", __file__], capture_output=True, text=True, timeout=120,
                              env={**os.environ, **environment})
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"gpus": [], "error": "the driver does not answer within 120 s"}
    except ValueError:
        return {"gpus": [], "error": f"asking the driver ended with status {done.returncode}: {done.stderr.strip()[-300:]}"}


if __name__ == "__main__":
    print(json.dumps(describe()))
