# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Causes of blocks by the stack that allocated them, for files that were recorded without tandem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tandem.gpu_memory import causes

# A part of a frame, as "file:function", and what it says; the first that is found counts.
_SIGNS = (
    ("torch/optim/:_init_group", causes.OPTIMIZER_STATE, "update"),
    ("torch/optim/", causes.UPDATE_WORKSPACE, "update"),
    ("torch/nn/parallel/comm.py:reduce_add", causes.GRADIENT_SUM, "backward"),
    ("torch/nn/parallel/_functions.py:backward", causes.GRADIENT_OF_OUTPUT, "backward"),
    ("torch/nn/parallel/comm.py:broadcast", causes.PARAMETER_COPY, "replicate"),
    ("torch/nn/parallel/comm.py:gather", causes.GATHERED_OUTPUT, "gather"),
    ("torch/nn/parallel/comm.py:scatter", causes.INPUT, "scatter"),
    ("torch/nn/parallel/distributed.py:_ddp_init", causes.DDP_BUCKET, "before"),
    ("torch/nn/modules/module.py:_apply", causes.PARAMETER, "before"),
    (":at::cuda::getCurrentCUDABlasHandle", causes.CUBLAS, "before"),
    ("torch/nn/modules/loss.py", causes.LOSS_SAVED, "loss"),
    ("torch/nn/functional.py:cross_entropy", causes.LOSS_SAVED, "loss"),
    (":torch::autograd::AccumulateGrad", causes.GRADIENT, "backward"),
    ("torch/autograd/graph.py:_engine_run_backward", causes.GRADIENT_OF_ACTIVATION, "backward"),
    (":torch::autograd::Engine", causes.GRADIENT_OF_ACTIVATION, "backward"),
    ("torch/nn/modules/module.py:_call_impl", causes.SAVED, "forward"),
)


def cause_of(frames: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The cause, and the phase, by the frames from the innermost on; unnamed, if they say nothing."""
    texts = [(frame.get("filename", ""), frame.get("name", "")) for frame in frames]
    for sign, cause, phase in _SIGNS:
        file, _, function = sign.partition(":")
        if any(file in where and function in name for where, name in texts):
            return cause, phase
    return causes.UNNAMED, "between"


def place_of(frames: Sequence[Mapping[str, Any]]) -> str:
    """Where the program's own code asked for it: 'file.py:12 function'."""
    for frame in frames:
        name = frame.get("filename", "")
        if name.endswith(".py") and "/torch/" not in name:
            return f"{name.rpartition('/')[2]}:{frame.get('line', 0)} {frame.get('name', '')}"
    return ""
