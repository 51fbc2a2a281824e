# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Twenty steps of an optimizer on given gradients.

in.p0, in.p1, in.p2        parameters at the start
in.grads.p0, ...           their gradients, one row a step
out.step5.p0, ...          parameters after steps 5, 10, 15 and 20
out.state.p0.exp_avg, ...  the optimizer's state after step 20
"""

import torch

SHAPES = {"p0": (3, 4), "p1": (5,), "p2": ()}
STEPS = 20


def record(f, name, op, parameters, groups=None):
    """`groups`: changes to `parameters` by parameter name; those without form the first group."""
    c = f.case(name)
    groups = groups or {}
    tensors = {key: c.normal(*shape).requires_grad_() for key, shape in SHAPES.items()}
    grads = {key: c.normal(STEPS, *shape) for key, shape in SHAPES.items()}
    for key in SHAPES:
        c.put(f"in.{key}", tensors[key])
    for key in SHAPES:
        c.put(f"in.grads.{key}", grads[key])

    rest = [tensors[key] for key in SHAPES if key not in groups]
    own = [{"params": [tensors[key]], **changes} for key, changes in groups.items()]
    optimizer = getattr(torch.optim, op)([{"params": rest}, *own], foreach=False, **parameters)
    for step in range(STEPS):
        for key, tensor in tensors.items():
            tensor.grad = grads[key][step].clone()
        optimizer.step()
        if (step + 1) % 5 == 0:
            for key, tensor in tensors.items():
                c.put(f"out.step{step + 1}.{key}", tensor)
    for key, tensor in tensors.items():
        for entry, value in optimizer.state[tensor].items():
            if torch.is_tensor(value) and entry != "step":
                c.put(f"out.state.{key}.{entry}", value)
    c.describe(op, **parameters, groups=groups)


def build(f):
    def sgd(name, groups=None, **changes):
        parameters = {"lr": 0.1, "momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0,
                      "nesterov": False, **changes}
        record(f, f"sgd_{name}", "SGD", parameters, groups)

    def adamw(name, groups=None, **changes):
        parameters = {"lr": 1e-3, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 1e-2,
                      "amsgrad": False, **changes}
        record(f, f"adamw_{name}", "AdamW", parameters, groups)

    sgd("plain")
    sgd("momentum", momentum=0.9)
    sgd("nesterov", momentum=0.9, nesterov=True)
    sgd("weight_decay", weight_decay=0.05)
    sgd("dampening", momentum=0.9, dampening=0.3)
    sgd("momentum_weight_decay", momentum=0.8, weight_decay=0.05)
    sgd("nesterov_weight_decay", momentum=0.8, nesterov=True, weight_decay=0.05)
    sgd("all", momentum=0.7, dampening=0.2, weight_decay=0.1, lr=0.03)
    sgd("groups", {"p1": {"lr": 0.01}, "p2": {"weight_decay": 0.0, "momentum": 0.5}}, momentum=0.9,
        weight_decay=0.05)
    adamw("default")
    adamw("lr", lr=0.05)
    adamw("betas", lr=0.02, betas=[0.7, 0.9])
    adamw("eps", lr=0.02, eps=0.1)
    adamw("no_weight_decay", lr=0.02, weight_decay=0.0)
    adamw("weight_decay", lr=0.02, weight_decay=0.3)
    adamw("groups", {"p1": {"lr": 0.05}, "p2": {"weight_decay": 0.0, "betas": [0.5, 0.9]}}, lr=0.02)
