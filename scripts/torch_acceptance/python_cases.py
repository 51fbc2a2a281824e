# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the cases of a mapped test file of PyTorch, and writes what each came to. It needs PyTorch and tandem's package.

usage: python_cases.py FILE REPORT
"""

import importlib.util
import json
import sys
import types
import unittest

DEVICES = 4
DTYPES = {"float32": "float", "float64": "double", "float16": "half"}  # as the cases' source writes them


def stand_in_for_expecttest():
    """PyTorch's test library imports it, and these cases do not use it."""
    if importlib.util.find_spec("expecttest") is None:
        module = types.ModuleType("expecttest")
        module.TestCase = unittest.TestCase
        sys.modules["expecttest"] = module


def load(path):
    spec = importlib.util.spec_from_file_location("mapped_cases", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # PyTorch's test library looks for it
    spec.loader.exec_module(module)
    return module


def case_name(test):
    """As the source has it. Those that PyTorch makes for a device and a type have both in their names."""
    suite = type(test).__name__.removesuffix("TANDEM").removesuffix("PRIVATEUSE1")
    start, device, dtype = test._testMethodName.partition("_tandem")
    return f"{suite}.{start}" + (f"_{DTYPES[dtype[1:]]}" if device and dtype else "")


class Report(unittest.TestResult):
    def __init__(self, file):
        super().__init__()
        self.file = file

    def write(self, test, result, text=""):
        self.file.write(json.dumps({"case": case_name(test), "result": result, "text": text}) + "\n")
        self.file.flush()

    def addSuccess(self, test):
        super().addSuccess(test)
        self.write(test, "pass")

    def addError(self, test, error):
        super().addError(test, error)
        self.write(test, "fail", self.errors[-1][1])

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.write(test, "fail", self.failures[-1][1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.write(test, "skip", reason)


def main():
    path, report = sys.argv[1:]
    sys.argv = [path]
    stand_in_for_expecttest()
    import tandem

    tandem.configure_devices(f"cpu:{DEVICES}")
    tandem.register_devices(DEVICES)
    with open(report, "w", encoding="utf-8") as file:
        unittest.defaultTestLoader.loadTestsFromModule(load(path)).run(Report(file))


if __name__ == "__main__":
    main()
