# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Modules: a forward and backward pass in training mode, then a forward pass in evaluation mode.

Inputs are `in.x` and the module's state dict (`in.weight`, in a Sequential `in.0.weight`). `out.eval`
is what the module gives for the same x in evaluation mode after the training pass, and
`out.running_mean` and `out.running_var` its buffers then.
"""

import torch
from torch import nn

from recorder import derive


def fill(case, module, scale):
    """Random numbers of our own kind in every parameter and buffer; `scale`: of parameters."""
    state = {}
    for name, old in module.state_dict().items():
        if name.endswith("num_batches_tracked"):
            state[name] = old
        elif name.endswith("running_var"):
            state[name] = case.uniform(0.5, 2, *old.shape)
        else:
            state[name] = case.normal(*old.shape) * scale
    module.load_state_dict(state)
    return state


def record(c, module, op, parameters, x, strided=None, scale=1.0):
    module.double()
    state = fill(c, module, scale)
    c.put("in.x", x)
    for name, tensor in state.items():
        c.put(f"in.{name}", tensor)
    leaf = x.clone().requires_grad_()
    view = derive(leaf, strided) if strided else leaf
    if strided == "channels_last":
        module = module.to(memory_format=torch.channels_last)
    out = module(view)
    c.put("out", out)
    c.backward(out, {"x": leaf, **dict(module.named_parameters())})
    for name, buffer in module.named_buffers():
        c.put(f"out.{name}", buffer)
    module.eval()
    with torch.no_grad():
        c.put("out.eval", module(view))
    c.describe(op, **parameters, inputs=["x", *state], strided={"x": strided} if strided else {})


MODULES = {name: getattr(nn, name) for name in (
    "Linear", "Conv2d", "BatchNorm1d", "BatchNorm2d", "MaxPool2d", "AvgPool2d", "AdaptiveAvgPool2d",
    "Flatten", "ReLU", "GELU", "Tanh", "Sigmoid", "Dropout")}


def single(f, name, op, parameters, shape, strided=None):
    c = f.case(name)
    record(c, MODULES[op](**parameters), op, parameters, c.distinct(*shape), strided)


def sequential(f, name, layers, shape, strided=None):
    c = f.case(name)
    module = nn.Sequential(*[MODULES[op](**parameters) for op, parameters in layers])
    description = [{"op": op, **parameters} for op, parameters in layers]
    record(c, module, "Sequential", {"layers": description}, c.normal(*shape), strided)


def dense(f):
    single(f, "linear", "Linear", {"in_features": 4, "out_features": 3}, (5, 4))
    single(f, "linear_no_bias", "Linear", {"in_features": 4, "out_features": 3, "bias": False},
           (2, 5, 4))
    single(f, "linear_transposed", "Linear", {"in_features": 4, "out_features": 3}, (4, 5),
           "transpose:0:1")
    for length in ((), (4,)):
        suffix = "_length" if length else ""
        single(f, f"batch_norm1d{suffix}", "BatchNorm1d", {"num_features": 3}, (5, 3, *length))
    single(f, "batch_norm1d_parameters", "BatchNorm1d",
           {"num_features": 3, "eps": 1e-2, "momentum": 0.4}, (5, 3))
    single(f, "batch_norm1d_no_affine", "BatchNorm1d", {"num_features": 3, "affine": False}, (5, 3))
    single(f, "batch_norm1d_transposed", "BatchNorm1d", {"num_features": 3}, (3, 5),
           "transpose:0:1")
    single(f, "flatten", "Flatten", {}, (2, 3, 2, 2))
    single(f, "flatten_dims", "Flatten", {"start_dim": 0, "end_dim": 1}, (2, 3, 4))
    single(f, "flatten_channels_last", "Flatten", {}, (2, 3, 2, 2), "channels_last")
    for op, parameters in (("ReLU", {}), ("GELU", {}), ("GELU", {"approximate": "tanh"}),
                           ("Tanh", {}), ("Sigmoid", {})):
        name = op.lower() + ("_approximate" if parameters else "")
        single(f, name, op, parameters, (3, 4))
        single(f, f"{name}_transposed", op, parameters, (3, 4), "transpose:0:1")
    single(f, "dropout_of_nothing", "Dropout", {"p": 0.0}, (3, 4))


def images(f):
    kinds = {
        "conv2d": ("Conv2d", {"in_channels": 3, "out_channels": 4, "kernel_size": 3}),
        "conv2d_parameters": ("Conv2d", {
            "in_channels": 4, "out_channels": 6, "kernel_size": [3, 2], "stride": [2, 1],
            "padding": [1, 0], "dilation": [1, 2], "groups": 2, "bias": False}),
        "batch_norm2d": ("BatchNorm2d", {"num_features": 3}),
        "batch_norm2d_parameters": ("BatchNorm2d", {"num_features": 3, "eps": 1e-2,
                                                    "momentum": 0.4}),
        "batch_norm2d_no_affine": ("BatchNorm2d", {"num_features": 3, "affine": False}),
        "max_pool2d": ("MaxPool2d", {"kernel_size": 2}),
        "max_pool2d_parameters": ("MaxPool2d", {"kernel_size": [3, 2], "stride": [1, 2],
                                                "padding": [1, 1]}),
        "avg_pool2d": ("AvgPool2d", {"kernel_size": 2}),
        "avg_pool2d_parameters": ("AvgPool2d", {"kernel_size": [3, 2], "stride": [1, 2],
                                                "padding": [1, 1], "count_include_pad": False}),
        "adaptive_avg_pool2d": ("AdaptiveAvgPool2d", {"output_size": 1}),
        "adaptive_avg_pool2d_parameters": ("AdaptiveAvgPool2d", {"output_size": [3, 2]}),
    }
    for name, (op, parameters) in kinds.items():
        channels = parameters.get("in_channels", 3)
        single(f, name, op, parameters, (2, channels, 5, 4))
        single(f, f"{name}_channels_last", op, parameters, (2, channels, 5, 4), "channels_last")


def stacks(f):
    mlp = [("Linear", {"in_features": 4, "out_features": 5}), ("ReLU", {}),
           ("Linear", {"in_features": 5, "out_features": 5}), ("Tanh", {}),
           ("Linear", {"in_features": 5, "out_features": 3, "bias": False})]
    sequential(f, "sequential_mlp", mlp, (6, 4))
    sequential(f, "sequential_mlp_transposed", mlp, (4, 6), "transpose:0:1")
    with_norm = [("Linear", {"in_features": 4, "out_features": 5}),
                 ("BatchNorm1d", {"num_features": 5}), ("GELU", {}),
                 ("Linear", {"in_features": 5, "out_features": 3})]
    sequential(f, "sequential_mlp_norm", with_norm, (6, 4))
    cnn = [("Conv2d", {"in_channels": 2, "out_channels": 3, "kernel_size": 3, "padding": 1}),
           ("BatchNorm2d", {"num_features": 3}), ("ReLU", {}), ("MaxPool2d", {"kernel_size": 2}),
           ("Conv2d", {"in_channels": 3, "out_channels": 4, "kernel_size": 3, "padding": 1}),
           ("BatchNorm2d", {"num_features": 4}), ("ReLU", {}),
           ("AdaptiveAvgPool2d", {"output_size": 1}), ("Flatten", {}),
           ("Linear", {"in_features": 4, "out_features": 3})]
    sequential(f, "sequential_cnn", cnn, (4, 2, 6, 6))
    sequential(f, "sequential_cnn_channels_last", cnn, (4, 2, 6, 6), "channels_last")
    flat = [("Conv2d", {"in_channels": 1, "out_channels": 2, "kernel_size": 3}), ("Sigmoid", {}),
            ("AvgPool2d", {"kernel_size": 2}), ("Flatten", {}),
            ("Linear", {"in_features": 8, "out_features": 3})]
    sequential(f, "sequential_cnn_flat", flat, (3, 1, 6, 6))


def build(f):
    dense(f)
    images(f)
    stacks(f)
