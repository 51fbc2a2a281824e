# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Convolution in two dimensions, in one, and transposed."""

import torch.nn.functional as F

LAST = {"x": "channels_last", "weight": "channels_last"}


def build(f):
    def one(name, x, weight, bias=True, strided=None, **changes):
        c = f.case(f"conv2d_{name}")
        parameters = {"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1], "groups": 1, **changes}
        inputs = {"x": c.normal(*x), "weight": c.normal(*weight)}
        if bias:
            inputs["bias"] = c.normal(weight[0])
        function = lambda x, w, b=None, **p: F.conv2d(x, w, b, **p)
        c.run("conv2d", function, inputs, parameters, strided)

    def both_layouts(name, x, weight, **changes):
        one(name, x, weight, **changes)
        one(f"{name}_channels_last", x, weight, strided=LAST, **changes)

    both_layouts("default", (2, 3, 5, 6), (4, 3, 3, 2))
    both_layouts("same_padding", (2, 3, 4, 5), (4, 3, 3, 3), padding=[1, 1])
    both_layouts("stride", (2, 2, 7, 6), (3, 2, 3, 3), stride=[2, 1], padding=[1, 0])
    both_layouts("dilation", (1, 2, 7, 6), (3, 2, 3, 2), dilation=[2, 3], padding=[1, 2])
    both_layouts("groups", (2, 4, 4, 4), (6, 2, 3, 3), groups=2, padding=[1, 1])
    both_layouts("depthwise", (2, 4, 4, 4), (4, 1, 3, 3), groups=4, padding=[1, 1])
    both_layouts("one_by_one", (2, 5, 3, 3), (4, 5, 1, 1))
    both_layouts("all", (2, 4, 8, 7), (4, 2, 3, 2), stride=[2, 3], padding=[2, 1], dilation=[2, 1],
                 groups=2)
    one("no_bias", (2, 3, 4, 4), (2, 3, 3, 3), bias=False, padding=[1, 1])
    one("one_channel", (3, 1, 5, 5), (4, 1, 3, 3), padding=[1, 1])
    one("stride_above_kernel", (1, 2, 7, 7), (2, 2, 2, 2), stride=[3, 3])
    one("kernel_is_image", (2, 3, 4, 3), (5, 3, 4, 3))
    one("x_channels_last", (2, 3, 5, 4), (2, 3, 3, 3), strided={"x": "channels_last"})
    one("x_transposed", (2, 3, 4, 5), (2, 3, 3, 3), strided={"x": "transpose:2:3"})
    one("x_step2", (2, 3, 5, 8), (2, 3, 3, 3), strided={"x": "step:3:2"})
    one("weight_transposed", (2, 3, 5, 5), (3, 3, 2, 3), strided={"weight": "transpose:0:1"})
    one("no_rows", (0, 3, 4, 4), (2, 3, 3, 3))
    line(f)
    transposed(f)


def line(f):
    def one(name, x, weight, bias=True, strided=None, **changes):
        c = f.case(f"conv1d_{name}")
        parameters = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, **changes}
        inputs = {"x": c.normal(*x), "weight": c.normal(*weight)}
        if bias:
            inputs["bias"] = c.normal(weight[0])
        c.run("conv1d", lambda x, w, b=None, **p: F.conv1d(x, w, b, **p), inputs, parameters, strided)

    one("default", (2, 3, 7), (4, 3, 3))
    one("all", (2, 4, 11), (6, 2, 3), stride=2, padding=3, dilation=2, groups=2)
    one("depthwise", (2, 4, 6), (4, 1, 3), padding=1, groups=4)
    one("no_bias", (1, 2, 5), (3, 2, 5), bias=False)
    one("x_transposed", (2, 6, 3), (4, 3, 2), strided={"x": "transpose:1:2"})


def transposed(f):
    def one(name, x, weight, bias=True, strided=None, **changes):
        c = f.case(f"conv_transpose2d_{name}")
        parameters = {"stride": [1, 1], "padding": [0, 0], "output_padding": [0, 0],
                      "dilation": [1, 1], "groups": 1, **changes}
        inputs = {"x": c.normal(*x), "weight": c.normal(*weight)}
        if bias:
            inputs["bias"] = c.normal(weight[1] * parameters["groups"])
        function = lambda x, w, b=None, **p: F.conv_transpose2d(x, w, b, **p)
        c.run("conv_transpose2d", function, inputs, parameters, strided)

    one("default", (2, 3, 4, 5), (3, 4, 3, 2))
    one("stride", (2, 3, 3, 4), (3, 2, 3, 3), stride=[2, 3], padding=[1, 0], output_padding=[1, 2])
    one("all", (2, 4, 3, 4), (4, 3, 3, 2), stride=[3, 2], padding=[1, 0], output_padding=[2, 1],
        dilation=[1, 2], groups=2)
    one("all_channels_last", (2, 4, 3, 4), (4, 3, 3, 2), stride=[3, 2], padding=[1, 0],
        output_padding=[2, 1], dilation=[1, 2], groups=2, strided=LAST)
    one("no_bias", (1, 2, 3, 3), (2, 3, 2, 2), bias=False, stride=[2, 2])
