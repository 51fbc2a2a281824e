# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Matrix products and the linear layer's op."""

import torch
import torch.nn.functional as F


def products(f):
    def one(name, x_shape, y_shape, strided=None):
        c = f.case(f"matmul_{name}")
        c.run("matmul", torch.matmul, {"x": c.normal(*x_shape), "y": c.normal(*y_shape)},
              strided=strided)

    one("2d", (3, 4), (4, 5))
    one("one_by_one", (1, 1), (1, 1))
    one("odd_sizes", (7, 9), (9, 5))
    one("batched", (2, 3, 4), (2, 4, 5))
    one("batch_broadcast", (2, 1, 3, 4), (3, 4, 2))
    one("batch_by_matrix", (2, 3, 4), (4, 5))
    one("matrix_by_batch", (3, 4), (2, 4, 5))
    one("vector_vector", (5,), (5,))
    one("matrix_vector", (3, 4), (4,))
    one("vector_matrix", (4,), (4, 5))
    one("batch_by_vector", (2, 3, 4), (4,))
    one("vector_by_batch", (3,), (2, 3, 4))
    one("x_transposed", (4, 3), (4, 5), {"x": "transpose:0:1"})
    one("y_transposed", (3, 4), (5, 4), {"y": "transpose:0:1"})
    one("both_transposed", (4, 3), (5, 4), {"x": "transpose:0:1", "y": "transpose:0:1"})
    one("batch_transposed", (3, 2, 4), (2, 5, 4), {"x": "transpose:0:1", "y": "transpose:1:2"})
    one("step2", (3, 8), (8, 5), {"x": "step:1:2", "y": "step:0:2"})
    one("expanded", (1, 3, 4), (2, 4, 5), {"x": "expand:0:2"})
    one("inner_empty", (3, 0), (0, 2))
    one("rows_empty", (0, 4), (4, 2))


def linears(f):
    def one(name, x_shape, features, bias=True, strided=None):
        c = f.case(f"linear_{name}")
        columns = 4
        inputs = {"x": c.normal(*x_shape), "weight": c.normal(features, columns)}
        if strided and "weight" in strided:
            inputs["weight"] = c.normal(columns, features)
        if bias:
            inputs["bias"] = c.normal(features)
        c.run("linear", F.linear, inputs, strided=strided)

    one("default", (3, 4), 5)
    one("no_bias", (3, 4), 5, bias=False)
    one("vector", (4,), 5)
    one("3d", (2, 3, 4), 5)
    one("one_feature", (6, 4), 1)
    one("x_transposed", (4, 3), 5, strided={"x": "transpose:0:1"})
    one("weight_transposed", (3, 4), 5, strided={"weight": "transpose:0:1"})
    one("3d_transposed", (3, 2, 4), 5, strided={"x": "transpose:0:1"})
    one("no_rows", (0, 4), 5)


def build(f):
    products(f)
    linears(f)
