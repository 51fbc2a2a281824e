# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that the extension module for PyTorch fits the PyTorch that is there, before it is loaded."""

from tandem import _core


def check() -> None:
    """Raises ImportError, which says what to do, if there is no PyTorch, or not the right one."""
    built = _core.torch_version
    wanted = ".".join((built or "2.15").split(".")[:2])
    try:
        import torch
    except ModuleNotFoundError as error:
        raise ImportError(f"tandem: this needs PyTorch {wanted}, and there is none: pip install 'torch=={wanted}.*'") from error
    if not built:
        raise ImportError(
            "tandem: this build has no part for PyTorch: build it again where PyTorch is, with "
            "pip install --no-build-isolation -C cmake.define.TANDEM_TORCH=ON ."
        )
    if torch.__version__.split(".")[:2] != wanted.split("."):
        raise ImportError(
            f"tandem: it was built for PyTorch {wanted}, and this is {torch.__version__}: pip install 'torch=={wanted}.*', "
            "or build tandem again with this one"
        )


check()
