# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Gives PyTorch the host's kernels for its GPUs as soon as a program has imported it. Python runs this file when it begins."""

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))


class Loader(importlib.abc.Loader):
    """PyTorch's own, and then the library of ops."""

    def __init__(self, own: importlib.abc.Loader) -> None:
        self.own = own

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.own.exec_module(module)
        library = os.environ.get("TANDEM_STAND_IN_OPS")
        if library:
            module.ops.load_library(library)

    def __getattr__(self, name: str) -> Any:  # what tools ask of a file's loader
        return getattr(self.own, name)


def check_version(folder: str) -> None:
    """PyTorch's binary interface changes with each minor version, and so do the calls of CUDA that it makes."""
    built = os.environ.get("TANDEM_STAND_IN_PYTORCH", "")
    with contextlib.suppress(OSError), open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
        found = re.search(r"__version__ = '(\d+\.\d+)", file.read())
        if built and found and not built.startswith(found[1] + "."):
            raise ImportError(f"this tandem.stand_in was built with PyTorch {built}, and {folder} has {found[1]}; "
                              f"run the program with PyTorch {built}, or build the stand-in with -D TANDEM_TORCH_DIR={folder}")


class Finder(importlib.abc.MetaPathFinder):
    """Stays: a program may ask whether there is a PyTorch before it imports it."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if name != "torch":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            check_version(os.path.dirname(spec.origin or ""))
            spec.loader = Loader(spec.loader)
        return spec


def run_next() -> None:
    """The environment may have a file of this name, which Python has not found because of this one."""
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", [p for p in sys.path if os.path.abspath(p or ".") != HERE])
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


sys.meta_path.insert(0, Finder())
run_next()
