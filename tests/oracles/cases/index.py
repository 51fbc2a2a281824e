# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Views and their gradients, joining, indexing."""

import torch


def views(f):
    def one(name, op, function, shape, parameters, strided=None):
        c = f.case(f"{op}_{name}")
        c.run(op, function, {"x": c.normal(*shape)}, parameters, strided)

    reshape = lambda x, shape: x.reshape(shape)
    one("default", "reshape", reshape, (3, 4), {"shape": (2, 6)})
    one("inferred", "reshape", reshape, (2, 3, 4), {"shape": (4, -1)})
    one("to_scalar", "reshape", reshape, (1, 1), {"shape": ()})
    one("transposed", "reshape", reshape, (3, 4), {"shape": (2, 6)}, {"x": "transpose:0:1"})
    one("channels_last", "reshape", reshape, (2, 3, 2, 2), {"shape": (2, 12)},
        {"x": "channels_last"})

    flatten = lambda x, start_dim, end_dim: x.flatten(start_dim, end_dim)
    one("default", "flatten", flatten, (2, 3, 4), {"start_dim": 0, "end_dim": -1})
    one("middle", "flatten", flatten, (2, 3, 4, 2), {"start_dim": 1, "end_dim": 2})
    one("channels_last", "flatten", flatten, (2, 3, 2, 2), {"start_dim": 1, "end_dim": -1},
        {"x": "channels_last"})

    permute = lambda x, dims: x.permute(dims)
    one("default", "permute", permute, (2, 3, 4), {"dims": (2, 0, 1)})
    one("negative", "permute", permute, (2, 3, 4), {"dims": (-1, 1, 0)})
    one("step2", "permute", permute, (2, 6, 4), {"dims": (1, 2, 0)}, {"x": "step:1:2"})

    transpose = lambda x, dim0, dim1: x.transpose(dim0, dim1)
    one("default", "transpose", transpose, (3, 4), {"dim0": 0, "dim1": 1})
    one("negative", "transpose", transpose, (2, 3, 4), {"dim0": -1, "dim1": 0})
    one("step2", "transpose", transpose, (3, 8), {"dim0": 0, "dim1": 1}, {"x": "step:1:2"})

    one("default", "unsqueeze", lambda x, dim: x.unsqueeze(dim), (2, 3), {"dim": 0})
    one("last", "unsqueeze", lambda x, dim: x.unsqueeze(dim), (2, 3), {"dim": -1})
    one("default", "squeeze", lambda x, dim: x.squeeze(dim), (2, 1, 3), {"dim": 1})
    one("not_one", "squeeze", lambda x, dim: x.squeeze(dim), (2, 1, 3), {"dim": 0})

    expand = lambda x, shape: x.expand(shape)
    one("default", "expand", expand, (3, 1), {"shape": (3, 4)})
    one("new_dims", "expand", expand, (1, 3), {"shape": (2, 4, 3)})
    one("keep", "expand", expand, (2, 1), {"shape": (3, -1, 4)})
    one("transposed", "expand", expand, (1, 3), {"shape": (3, 5)}, {"x": "transpose:0:1"})

    def cut(x, dim, start, stop, step):
        return x[(slice(None),) * dim + (slice(start, stop, step),)]

    one("default", "slice", cut, (5, 3), {"dim": 0, "start": 1, "stop": 4, "step": 1})
    one("step", "slice", cut, (3, 7), {"dim": 1, "start": 1, "stop": 7, "step": 3})
    one("from_the_end", "slice", cut, (3, 7), {"dim": 1, "start": -3, "stop": -1, "step": 1})
    one("past_the_end", "slice", cut, (3, 4), {"dim": 1, "start": 2, "stop": 99, "step": 1})
    one("nothing", "slice", cut, (3, 4), {"dim": 1, "start": 3, "stop": 3, "step": 1})
    one("transposed", "slice", cut, (5, 4), {"dim": 0, "start": 0, "stop": 4, "step": 2},
        {"x": "transpose:0:1"})
    one("default", "select", lambda x, dim, index: x.select(dim, index), (3, 4),
        {"dim": 1, "index": 2})
    one("negative", "select", lambda x, dim, index: x.select(dim, index), (3, 4),
        {"dim": 0, "index": -1})


def joins(f):
    def one(op, name, shapes, dim, strided=None):
        function = {"cat": torch.cat, "stack": torch.stack}[op]
        c = f.case(f"{op}_{name}")
        inputs = {f"x{i}": c.normal(*shape) for i, shape in enumerate(shapes)}
        c.run(op, lambda *xs, dim: function(xs, dim), inputs, {"dim": dim}, strided)

    one("cat", "default", [(2, 3), (1, 3), (3, 3)], 0)
    one("cat", "last_dim", [(2, 1, 3), (2, 1, 2)], -1)
    one("cat", "single", [(2, 3)], 1)
    one("cat", "with_empty", [(2, 3), (0, 3)], 0)
    one("cat", "transposed", [(3, 2), (2, 4)], 1, {"x0": "transpose:0:1"})
    one("cat", "channels_last", [(2, 3, 2, 2), (2, 1, 2, 2)], 1,
        {"x0": "channels_last", "x1": "channels_last"})
    one("stack", "default", [(2, 3), (2, 3)], 0)
    one("stack", "middle", [(2, 3), (2, 3), (2, 3)], 1)
    one("stack", "last", [(2, 3), (2, 3)], -1)
    one("stack", "strided", [(3, 2), (2, 6)], 0, {"x0": "transpose:0:1", "x1": "step:1:2"})


def indexed(f):
    def select(name, shape, dim, index, strided=None):
        c = f.case(f"index_select_{name}")
        c.run("index_select", lambda x, index, dim: x.index_select(dim, index),
              {"x": c.normal(*shape), "index": torch.tensor(index, dtype=torch.int64)},
              {"dim": dim}, strided)

    select("default", (4, 3), 0, [2, 0])
    select("repeated", (4, 3), 0, [1, 3, 1, 1])
    select("last_dim", (2, 3, 4), -1, [3, 0, 0])
    select("nothing", (4, 3), 0, [])
    select("transposed", (3, 4), 0, [2, 2, 0], {"x": "transpose:0:1"})

    def pick(name, shape, dim, index_shape, high, strided=None):
        c = f.case(f"gather_{name}")
        c.run("gather", lambda x, index, dim: x.gather(dim, index),
              {"x": c.normal(*shape), "index": c.integers(0, high, *index_shape)}, {"dim": dim},
              strided)

    pick("default", (3, 4), 1, (3, 2), 4)
    pick("dim0", (3, 4), 0, (5, 4), 3)
    pick("smaller", (3, 4, 2), 1, (2, 6, 1), 4)
    pick("transposed", (4, 3), 1, (2, 3), 4, {"x": "transpose:0:1", "index": "transpose:0:1"})

    def scatter(name, shape, dim, index_shape, high, strided=None):
        c = f.case(f"scatter_add_{name}")
        source = index_shape
        if strided and "source" in strided:
            source = tuple(reversed(index_shape))
        c.run("scatter_add", lambda x, index, source, dim: x.scatter_add(dim, index, source),
              {"x": c.normal(*shape), "index": c.integers(0, high, *index_shape),
               "source": c.normal(*source)}, {"dim": dim}, strided)

    scatter("default", (3, 4), 1, (3, 6), 4)
    scatter("dim0", (3, 4), 0, (5, 4), 3)
    scatter("transposed", (4, 3), 1, (3, 2), 4,
            {"x": "transpose:0:1", "source": "transpose:0:1"})


def triangles(f):
    for op, function in (("tril", torch.tril), ("triu", torch.triu)):
        for name, shape, diagonal, strided in (
                ("default", (3, 4), 0, {}), ("above", (4, 3), 1, {}), ("below", (2, 3, 4), -1, {}),
                ("far", (3, 3), 5, {}), ("transposed", (4, 3), 0, {"x": "transpose:0:1"})):
            c = f.case(f"{op}_{name}")
            c.run(op, lambda x, diagonal, function=function: function(x, diagonal),
                  {"x": c.normal(*shape)}, {"diagonal": diagonal}, strided)


def one_hots(f):
    for name, shape in (("default", (5,)), ("2d", (2, 3)), ("scalar_tensor", ())):
        c = f.case(f"one_hot_{name}")
        c.run("one_hot", torch.nn.functional.one_hot, {"index": c.integers(0, 4, *shape)},
              {"num_classes": 5})


def build(f):
    views(f)
    joins(f)
    indexed(f)
    triangles(f)
    one_hots(f)
