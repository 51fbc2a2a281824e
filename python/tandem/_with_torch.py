# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the adapter, which is the extension module _torch, for the PyTorch that is there.

PyTorch's binary interface changes with each minor version, so there is an adapter for each: adapters/0.1.0/2.15 is for PyTorch
2.15 and tandem 0.1.0. All of them link to the one library that is in lib. One that was built for another tandem is not seen.
"""

import pathlib

import tandem
from tandem import _core
from tandem._torch_versions import KNOWN, NEWEST, NoAdapter, minor_of, numbers, why_too_old

ADAPTERS = pathlib.Path(__file__).parent / "adapters" / _core.version


def known_versions() -> list[str]:
    """The minor versions of PyTorch that have an adapter, the oldest first."""
    found = {path.parent.name for path in ADAPTERS.glob("*/_torch.*so")}
    return sorted(found, key=numbers)


def _adapter() -> pathlib.Path:
    """Raises NoAdapter if there is none for the PyTorch that is there."""
    present = known_versions()
    wanted = present[-1] if present else NEWEST
    try:
        import torch
    except ModuleNotFoundError as error:
        raise NoAdapter(f"tandem: this needs PyTorch {wanted}, and there is none: pip install 'torch=={wanted}.*'") from error
    version = minor_of(torch.__version__)
    if version not in present:
        if refusal := why_too_old(torch.__version__, wanted):
            raise NoAdapter(f"tandem: {refusal}")
        have = f"adapters for PyTorch {', '.join(present)}" if present else "no adapter for any PyTorch"
        instead = f"install one of those (pip install 'torch=={wanted}.*'), or " if present else ""
        raise NoAdapter(
            f"tandem: this is PyTorch {torch.__version__}, and the package has {have}: {instead}build one for PyTorch {version}, "
            f"which takes some minutes and a C++20 compiler: python -m tandem adapter (tandem knows {KNOWN})"
        )
    return ADAPTERS / version


tandem.__path__.insert(0, str(_adapter()))
from tandem import _torch as _torch  # noqa: E402
