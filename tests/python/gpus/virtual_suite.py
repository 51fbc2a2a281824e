# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a suite for virtual devices on PyTorch's GPUs: python3 virtual_suite.py NAME, of ../NAME_test.py.

The suite stays as it is. Its devices are read as GPUs, a module is moved to the first of them, and outputs go to the host, where
the suite expects them. Tests that cannot be so are in virtual_suites.json, with the reason.
"""

import json
import pathlib
import re
import sys
import unittest

import torch

import tandem
from tandem import data_parallel, torch_device

HERE = pathlib.Path(__file__).resolve().parent


def translated(source):
    """The text with GPUs in the place of virtual devices, also in what errors are to say."""
    source = re.sub(r"\b(cpu|tandem):(?=\d|\\d|\{)", "cuda:", source)
    return source.replace('"tandem"', '"cuda"').replace("torch.tandem", "torch.cuda")


class Devices:
    """The default devices, of which a suite asks for N by 'cuda:N'."""

    count = torch.cuda.device_count()

    @classmethod
    def names(cls, devices=None):
        if devices is None:
            return [f"cuda:{i}" for i in range(cls.count)]
        counted = re.fullmatch(r"cuda:(\d+)(@\w+)?", devices) if isinstance(devices, str) else None  # tests of limits are exceptions
        if counted:
            return [f"cuda:{i}" for i in range(int(counted[1]))]
        return devices

    @classmethod
    def configure(cls, devices):
        cls.count = len(cls.names(devices))
        return cls.names()


def wrap(former):
    """The constructor of a wrapper, for a module that the suite has left on the host."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0, *, devices=None, **options):
        if device_ids is None:
            devices = Devices.names(devices)
            if not any(x.is_cuda for x in (*module.parameters(), *module.buffers())):
                output_device = "cpu" if output_device is None else output_device
                module.to("cuda:0")
        former(self, module, device_ids, output_device, dim, devices=devices, **options)

    return __init__


def on_host(function):
    """A comparison of tensors that may lie on different devices."""
    return lambda *args, **options: function(*(x.cpu() if isinstance(x, torch.Tensor) else x for x in args), **options)


def replace():
    data_parallel.DataParallel.__init__ = wrap(data_parallel.DataParallel.__init__)
    tandem.configure_devices = Devices.configure
    tandem.register_devices = torch_device.register_devices = lambda count=None: torch.cuda.device_count()
    torch.equal, torch.allclose = on_host(torch.equal), on_host(torch.allclose)
    close = torch.testing.assert_close
    torch.testing.assert_close = lambda *args, **options: close(*args, **{"check_device": False} | options)


def run(name):
    """Runs the suite as the main program."""
    skipped = json.loads((HERE / "virtual_suites.json").read_text(encoding="utf-8"))[name]
    names = sys.modules["__main__"].__dict__
    main = unittest.main

    def main_with_exceptions():
        for test, reason in skipped.items():
            kind, _, method = test.partition(".")
            setattr(names[kind], method, unittest.skip(reason)(getattr(names[kind], method)))
        main()

    unittest.main = main_with_exceptions
    path = HERE.parent / f"{name}_test.py"
    exec(compile(translated(path.read_text(encoding="utf-8")), str(path), "exec"), names)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    replace()
    run(sys.argv.pop(1))
