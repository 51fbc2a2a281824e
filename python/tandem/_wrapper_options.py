# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The options that a wrapper takes by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypedDict, TypeVar

from tandem import _core
from tandem._devices import DeviceLike

_Function = TypeVar("_Function", bound=Callable[..., Any])


class BalancedOptions(TypedDict, total=False):
    """Of BalancedDataParallel, besides its first argument. docs/data-parallel.md says what they mean."""

    chunks: str | Sequence[float] | _core.StepModel | None
    chunk_sizes: Sequence[int] | None
    accumulate: int | None
    scalars: str | None
    on_oom: str | None
    mode: str | None
    batch_norm: str | None
    dropout: str | None
    unused_gradients: str | None
    non_finite_loss: str | None
    non_finite_gradients: str | None
    check_drift_every: int | None
    straggler_ratio: float | None
    deadline: float | None
    backend: str | None


class WrapperOptions(BalancedOptions, total=False):
    """Of DataParallel."""

    gpu0_bsz: int | None


class ReplacementOptions(WrapperOptions, total=False):
    """Of wrappers that a program makes as torch.nn.DataParallel."""

    devices: str | Sequence[DeviceLike] | None
    output_device: DeviceLike | None


def shows(options: type[Any]) -> Callable[[_Function], _Function]:
    """Puts the options into the signature of a function, in the place of **options, for help() and editors."""

    def with_signature(function: _Function) -> _Function:
        signature = inspect.signature(function)
        own = [parameter for parameter in signature.parameters.values() if parameter.kind != inspect.Parameter.VAR_KEYWORD]
        named = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind.__forward_arg__)
            for name, kind in options.__annotations__.items()
        ]
        setattr(function, "__signature__", signature.replace(parameters=[*own, *named]))
        return function

    return with_signature
