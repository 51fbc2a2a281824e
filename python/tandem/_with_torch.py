# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the adapter, which is the extension module _torch, for the PyTorch that is there.

PyTorch's binary interface changes with each minor version, so there is an adapter for each: adapters/0.1.0/2.15 is for PyTorch
2.15 and tandem 0.1.0. All of them link to the one library that is in lib. One that was built for another tandem is not seen.
"""

import pathlib

import tandem
from tandem import _core

_OLDEST = [2, 15]  # as in cmake/TandemTorchVersion.cmake
ADAPTERS = pathlib.Path(__file__).parent / "adapters" / _core.version


def minor_of(version: str) -> str:
    """'2.15' of '2.15.0+cu130'."""
    return ".".join(version.split(".")[:2])


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def known_versions() -> list[str]:
    """The minor versions of PyTorch that have an adapter, the oldest first."""
    found = {path.parent.name for path in ADAPTERS.glob("*/_torch.*so")}
    return sorted(found, key=_numbers)


def _adapter() -> pathlib.Path:
    """Raises ImportError, which says what to do, if there is no PyTorch, or none that an adapter is for."""
    known = known_versions()
    wanted = known[-1] if known else "2.15"
    try:
        import torch
    except ModuleNotFoundError as error:
        raise ImportError(f"tandem: this needs PyTorch {wanted}, and there is none: pip install 'torch=={wanted}.*'") from error
    version = minor_of(torch.__version__)
    if version not in known and _numbers(version) < _OLDEST:
        raise ImportError(f"tandem: this is PyTorch {torch.__version__}, and tandem is for {'.'.join(map(str, _OLDEST))} or later: "
                          f"pip install 'torch=={wanted}.*'")
    if version not in known:
        have = f"adapters for PyTorch {', '.join(known)}" if known else "no adapter for any PyTorch"
        instead = f"install one of those (pip install 'torch=={wanted}.*'), or " if known else ""
        raise ImportError(
            f"tandem: this is PyTorch {torch.__version__}, and the package has {have}: {instead}build one for PyTorch {version}, "
            "which takes some minutes and a C++20 compiler: python -m tandem adapter"
        )
    return ADAPTERS / version


tandem.__path__.insert(0, str(_adapter()))
from tandem import _torch as _torch  # noqa: E402
