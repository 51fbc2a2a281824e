# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Batch norm over (N, C), (N, C, L) and (N, C, H, W)."""

import torch.nn.functional as F

SHAPES = {"1d": (6, 3), "1d_length": (3, 4, 5), "2d": (3, 4, 2, 3)}


def batch_norm(f, name, shape, training, affine=True, running=True, momentum=0.1, eps=1e-5,
               strided=None, shift=0.0):
    c = f.case(f"batch_norm_{name}")
    channels = shape[0] if strided and strided["x"] == "transpose:0:1" else shape[1]
    inputs = {"x": c.normal(*shape) + shift}
    if affine:
        inputs |= {"weight": c.normal(channels), "bias": c.normal(channels)}
    if running:
        inputs |= {"running_mean": c.normal(channels), "running_var": c.uniform(0.5, 2, channels)}
    names = list(inputs)

    def call(*views, training, momentum, eps):
        given = dict(zip(names, views))
        mean, var = (given[k].clone() if running else None for k in ("running_mean", "running_var"))
        out = F.batch_norm(given["x"], mean, var, given.get("weight"), given.get("bias"), training,
                           momentum, eps)
        return out, ({"running_mean": mean, "running_var": var} if running else {})

    c.run("batch_norm", call, inputs, {"training": training, "momentum": momentum, "eps": eps},
          strided, const=("running_mean", "running_var"))


def build(f):
    for kind, shape in SHAPES.items():
        for mode, training in (("train", True), ("eval", False)):
            batch_norm(f, f"{kind}_{mode}", shape, training)
            batch_norm(f, f"{kind}_{mode}_no_affine", shape, training, affine=False)
            batch_norm(f, f"{kind}_{mode}_parameters", shape, training, momentum=0.3, eps=1e-2)
    batch_norm(f, "2d_train_no_running", SHAPES["2d"], True, running=False)
    batch_norm(f, "2d_train_plain", SHAPES["2d"], True, running=False, affine=False)
    batch_norm(f, "2d_train_far_from_zero", SHAPES["2d"], True, shift=32768.0)
    for mode, training in (("train", True), ("eval", False)):
        batch_norm(f, f"2d_{mode}_channels_last", SHAPES["2d"], training,
                   strided={"x": "channels_last"})
        batch_norm(f, f"2d_{mode}_step2", (3, 4, 2, 6), training, strided={"x": "step:3:2"})
        batch_norm(f, f"1d_{mode}_transposed", (3, 6), training, strided={"x": "transpose:0:1"})
