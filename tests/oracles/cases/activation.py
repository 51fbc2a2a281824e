# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""relu, gelu, silu and other functions of one operand; softmax, log_softmax."""

import torch
import torch.nn.functional as F

UNUSUAL = [0.0, -0.0, 1e-9, -1e-9, -30.0, 30.0, -800.0, 800.0]


def pointwise(f, name, op, function, parameters=None):
    c = f.case(f"{name}_default")
    c.run(op, function, {"x": c.normal(3, 5)}, parameters)
    c = f.case(f"{name}_unusual")
    c.run(op, function, {"x": torch.tensor(UNUSUAL, dtype=torch.float64)}, parameters)
    c = f.case(f"{name}_transposed")
    c.run(op, function, {"x": c.normal(2, 3, 4)}, parameters, {"x": "transpose:0:2"})
    c = f.case(f"{name}_step2")
    c.run(op, function, {"x": c.normal(3, 6)}, parameters, {"x": "step:1:2"})
    c = f.case(f"{name}_channels_last")
    c.run(op, function, {"x": c.normal(2, 3, 2, 2)}, parameters, {"x": "channels_last"})
    c = f.case(f"{name}_empty")
    c.run(op, function, {"x": c.normal(0, 3)}, parameters)


def along_a_dim(f, op, function):
    for name, shape, dim in (("default", (3, 5), -1), ("dim0", (3, 5), 0), ("middle", (2, 3, 4), 1),
                             ("one_class", (3, 1), 1), ("vector", (6,), 0)):
        c = f.case(f"{op}_{name}")
        c.run(op, function, {"x": c.normal(*shape)}, {"dim": dim})
    c = f.case(f"{op}_large")  # exp alone would overflow
    c.run(op, function, {"x": 1000 * c.normal(3, 4)}, {"dim": 1})
    c = f.case(f"{op}_transposed")
    c.run(op, function, {"x": c.normal(5, 3)}, {"dim": 1}, {"x": "transpose:0:1"})
    c = f.case(f"{op}_step2")
    c.run(op, function, {"x": c.normal(3, 8)}, {"dim": 1}, {"x": "step:1:2"})
    c = f.case(f"{op}_channels_last")
    c.run(op, function, {"x": c.normal(2, 3, 2, 2)}, {"dim": 1}, {"x": "channels_last"})


def build(f):
    pointwise(f, "relu", "relu", torch.relu)
    pointwise(f, "gelu", "gelu", F.gelu, {"approximate": "none"})
    pointwise(f, "gelu_tanh", "gelu", F.gelu, {"approximate": "tanh"})
    pointwise(f, "tanh", "tanh", torch.tanh)
    pointwise(f, "sigmoid", "sigmoid", torch.sigmoid)
    pointwise(f, "silu", "silu", F.silu)
    pointwise(f, "leaky_relu", "leaky_relu", F.leaky_relu, {"negative_slope": 0.125})
    pointwise(f, "elu", "elu", F.elu, {"alpha": 1.5})
    pointwise(f, "softplus", "softplus", F.softplus, {"beta": 1.0, "threshold": 20.0})
    pointwise(f, "softplus_beta", "softplus", F.softplus, {"beta": 2.5, "threshold": 3.0})
    pointwise(f, "logsigmoid", "logsigmoid", F.logsigmoid)
    along_a_dim(f, "softmax", torch.softmax)
    along_a_dim(f, "log_softmax", torch.log_softmax)
