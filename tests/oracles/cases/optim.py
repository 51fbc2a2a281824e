# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Twenty steps of an optimizer on given gradients.

in.p0, in.p1, in.p2        parameters at the start
in.grads.p0, ...           their gradients, one row a step
out.step5.p0, ...          parameters after steps 5, 10, 15 and 20
out.state.p0.exp_avg, ...  the optimizer's state after step 20
"""

import numpy as np
import torch

SHAPES = {"p0": (3, 4), "p1": (5,), "p2": ()}
STEPS = 20


class LAMB:
    """Algorithm 2 of You et al., "Large batch optimization for deep learning" (ICLR 2020), in numpy:
    PyTorch has none. The trust ratio is 1 where either norm is zero."""

    def __init__(self, groups, foreach, **defaults):
        self.groups = [{**defaults, **group} for group in groups]
        self.state = {p: {"exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
                      for group in self.groups for p in group["params"]}
        self.t = 0

    def step(self):
        self.t += 1
        for group in self.groups:
            for p in group["params"]:
                self.update(p, group)

    def update(self, p, group):
        beta1, beta2 = group["betas"]
        x, g = p.detach().numpy(), p.grad.numpy()
        m, v = (self.state[p][entry].detach().numpy() for entry in ("exp_avg", "exp_avg_sq"))
        m[...] = beta1 * m + (1 - beta1) * g
        v[...] = beta2 * v + (1 - beta2) * g * g
        u = (m / (1 - beta1**self.t)) / (np.sqrt(v / (1 - beta2**self.t)) + group["eps"])
        u = u + group["weight_decay"] * x
        norms = np.sqrt(np.sum(x * x)), np.sqrt(np.sum(u * u))
        trust = norms[0] / norms[1] if min(norms) > 0 else 1.0
        x[...] = x - group["lr"] * trust * u


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
    kind = LAMB if op == "LAMB" else getattr(torch.optim, op)
    optimizer = kind([{"params": rest}, *own], foreach=False, **parameters)
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
    more(f)


def more(f):
    def adam(name, groups=None, **changes):
        record(f, f"adam_{name}", "Adam", {"lr": 0.02, "betas": [0.8, 0.95], "eps": 1e-8,
                                           "weight_decay": 0.0, "amsgrad": False, **changes}, groups)

    def rmsprop(name, groups=None, **changes):
        record(f, f"rmsprop_{name}", "RMSprop", {"lr": 0.01, "alpha": 0.99, "eps": 1e-8,
                                                 "weight_decay": 0.0, "momentum": 0.0,
                                                 "centered": False, **changes}, groups)

    def adagrad(name, groups=None, **changes):
        record(f, f"adagrad_{name}", "Adagrad", {"lr": 0.01, "lr_decay": 0.0, "weight_decay": 0.0,
                                                 "initial_accumulator_value": 0.0, "eps": 1e-10,
                                                 **changes}, groups)

    def lamb(name, groups=None, **changes):
        record(f, f"lamb_{name}", "LAMB", {"lr": 0.02, "betas": [0.9, 0.999], "eps": 1e-6,
                                           "weight_decay": 0.01, **changes}, groups)

    adam("default")
    adam("weight_decay", weight_decay=0.3)
    rmsprop("default")
    rmsprop("momentum", momentum=0.9, alpha=0.9)
    rmsprop("centered", centered=True, alpha=0.8)
    rmsprop("all", centered=True, momentum=0.7, weight_decay=0.1, lr=0.03, eps=1e-3)
    rmsprop("groups", {"p1": {"momentum": 0.5}, "p2": {"lr": 0.1}})
    adagrad("default")
    adagrad("all", lr=0.1, lr_decay=0.2, weight_decay=0.1, initial_accumulator_value=0.5, eps=1e-3)
    adagrad("groups", {"p1": {"lr": 0.2}, "p2": {"eps": 0.1}}, lr=0.05)
    def nadam(name, groups=None, **changes):
        record(f, f"nadam_{name}", "NAdam", {"lr": 0.02, "betas": [0.9, 0.999], "eps": 1e-8,
                                             "weight_decay": 0.0, "momentum_decay": 4e-3,
                                             "decoupled_weight_decay": False, **changes}, groups)

    def radam(name, groups=None, **changes):
        record(f, f"radam_{name}", "RAdam", {"lr": 0.02, "betas": [0.9, 0.999], "eps": 1e-8,
                                             "weight_decay": 0.0, "decoupled_weight_decay": False,
                                             **changes}, groups)

    def adadelta(name, groups=None, **changes):
        record(f, f"adadelta_{name}", "Adadelta", {"lr": 1.0, "rho": 0.9, "eps": 1e-6,
                                                   "weight_decay": 0.0, **changes}, groups)

    lamb("default")
    lamb("betas", betas=[0.6, 0.9], eps=1e-3, lr=0.1)
    lamb("no_weight_decay", weight_decay=0.0)
    lamb("groups", {"p1": {"lr": 0.1}, "p2": {"weight_decay": 0.5}})
    nadam("default")
    nadam("weight_decay", weight_decay=0.3)
    nadam("decoupled", weight_decay=0.3, decoupled_weight_decay=True)
    nadam("all", lr=0.05, betas=[0.7, 0.9], eps=1e-3, weight_decay=0.1, momentum_decay=0.5)
    nadam("groups", {"p1": {"momentum_decay": 0.1}, "p2": {"lr": 0.1, "betas": [0.5, 0.9]}})
    radam("default")
    radam("weight_decay", weight_decay=0.3)
    radam("decoupled", weight_decay=0.3, decoupled_weight_decay=True)
    radam("all", lr=0.05, betas=[0.7, 0.9], eps=1e-3, weight_decay=0.1)
    radam("never_adaptive", betas=[0.9, 0.6])
    radam("groups", {"p1": {"lr": 0.1}, "p2": {"betas": [0.5, 0.9]}})
    adadelta("default")
    adadelta("all", lr=0.5, rho=0.6, eps=1e-3, weight_decay=0.1)
    adadelta("groups", {"p1": {"rho": 0.5}, "p2": {"lr": 0.1, "eps": 1e-2}})
