# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Clipping gradients by their total norm: the norm before, and the gradients after."""

import torch

SHAPES = {"p0": (3, 4), "p1": (5,), "p2": ()}


def record(f, name, max_norm, norm_type=2.0, scale=1.0):
    c = f.case(name)
    parameters = []
    for key, shape in SHAPES.items():
        parameter = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
        parameter.grad = scale * c.normal(*shape)
        c.put(f"in.grad.{key}", parameter.grad)
        parameters.append(parameter)
    norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type)
    c.put("out", norm)
    for key, parameter in zip(SHAPES, parameters):
        c.put(f"out.grad.{key}", parameter.grad)
    c.describe("clip_grad_norm_", max_norm=max_norm, norm_type=norm_type if norm_type < 1e9 else "inf")


def build(f):
    record(f, "above", 1.0)
    record(f, "below", 100.0)  # the gradients stay as they are
    record(f, "far_above", 1e-3, scale=1024.0)
    record(f, "zero", 1.0, scale=0.0)
    record(f, "one_norm", 2.0, norm_type=1.0)
    record(f, "largest", 0.5, norm_type=float("inf"))
