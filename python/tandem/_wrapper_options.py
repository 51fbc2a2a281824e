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
    """Of BalancedDataParallel, besides its first argument: those of WrapperOptions but gpu0_bsz."""

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
    """Of DataParallel. None, or no value, is the first of the words, or what is said in parentheses.

    chunks                even, torch chunk (as torch.chunk), free memory, planned (by measured memory), a StepModel, sizes or weights
    chunk_sizes           rows of each device, in place of chunks
    gpu0_bsz              rows of the first device, in place of chunks; the others share the rest
    accumulate            micro-batches of a step, whose gradients make one update (1)
    scalars               how outputs without dimensions are joined: stack, mean, weighted_mean by rows, sum
    on_oom                a step that a device has no memory for: error, or replan, which repeats it with other chunks
    mode                  what moves between devices, and who updates: sharded, server, classic, ddp
    batch_norm            statistics of the whole batch, synchronised, or per_replica
    dropout               masks of each device's generator, per_device, or by_row: the same in any chunks
    unused_gradients      of a parameter that backward does not reach: none, or zeros as by torch.nn.DataParallel
    non_finite_loss       a loss that is infinite or NaN: off, warn, error, or skip the step (error)
    non_finite_gradients  the same of reduced gradients, which costs a pass over them (off)
    check_drift_every     steps between comparisons of the copies with the first device's weights; 0 is never (0)
    straggler_ratio       a forward that takes so many times as long as the others' is told in step()'s result (5)
    deadline              seconds without progress after which a call fails (300)
    backend               what moves sums between GPUs: local, or nccl
    """

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
