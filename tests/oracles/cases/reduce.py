# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Sums, means, extrema, arg max, variance."""

import torch

SHAPE = (2, 3, 4)
# case -> dims (None: all) and keepdim
DIMS = {"all": (None, False), "dim": ((1,), False), "dims": ((0, 2), False),
        "negative_keepdim": ((-1,), True), "all_keepdim": (None, True)}
LAYOUTS = {"transposed": "transpose:0:2", "step2": "step:2:2"}


def dims_of(dim, x):
    return tuple(range(x.dim())) if dim is None else tuple(dim)


def reduction(f, op, function, values):
    def call(x, dim, keepdim, **parameters):
        return function(x, dims_of(dim, x), keepdim=keepdim, **parameters)

    for name, (dim, keepdim) in DIMS.items():
        c = f.case(f"{op}_{name}")
        c.run(op, call, {"x": getattr(c, values)(*SHAPE)}, {"dim": dim, "keepdim": keepdim})
    for name, how in LAYOUTS.items():
        c = f.case(f"{op}_{name}")
        c.run(op, call, {"x": getattr(c, values)(*SHAPE)}, {"dim": (0, 2), "keepdim": False},
              {"x": how})
    c = f.case(f"{op}_channels_last")
    c.run(op, call, {"x": getattr(c, values)(2, 3, 2, 4)}, {"dim": (0, 2, 3), "keepdim": False},
          {"x": "channels_last"})


def variances(f):
    def call(x, dim, unbiased, keepdim):
        return torch.var(x, dims_of(dim, x), unbiased=unbiased, keepdim=keepdim)

    for kind, unbiased in (("unbiased", True), ("biased", False)):
        for name, (dim, keepdim) in DIMS.items():
            c = f.case(f"var_{kind}_{name}")
            c.run("var", call, {"x": c.normal(*SHAPE)},
                  {"dim": dim, "unbiased": unbiased, "keepdim": keepdim})
        c = f.case(f"var_{kind}_transposed")
        c.run("var", call, {"x": c.normal(*SHAPE)},
              {"dim": (0, 1), "unbiased": unbiased, "keepdim": False}, {"x": "transpose:1:2"})
    c = f.case("var_far_from_zero")  # a sum of squares minus a squared sum would lose its digits
    c.run("var", call, {"x": c.normal(4, 8) + 1048576.0},
          {"dim": (1,), "unbiased": True, "keepdim": False})


def arg_max(f):
    for name, dim, keepdim in (("all", None, False), ("dim", 1, False), ("keepdim", -1, True)):
        c = f.case(f"argmax_{name}")
        c.run("argmax", torch.argmax, {"x": c.distinct(*SHAPE)}, {"dim": dim, "keepdim": keepdim},
              const=("x",))
    c = f.case("argmax_transposed")
    c.run("argmax", torch.argmax, {"x": c.distinct(*SHAPE)}, {"dim": 0, "keepdim": False},
          {"x": "transpose:0:2"}, const=("x",))
    c = f.case("argmax_ties")  # the first of equals
    c.run("argmax", torch.argmax, {"x": c.integers(0, 2, 4, 8).double()},
          {"dim": 1, "keepdim": False}, const=("x",))


def special(f):
    for op, function in (("sum", torch.sum), ("mean", torch.mean)):
        def call(x, dim, keepdim, function=function):
            return function(x, dims_of(dim, x), keepdim=keepdim)

        c = f.case(f"{op}_empty")  # nothing to add: 0, and 0 / 0
        c.run(op, call, {"x": c.normal(2, 0)}, {"dim": (1,), "keepdim": False})
        c = f.case(f"{op}_scalar_tensor")
        c.run(op, call, {"x": c.normal()}, {"dim": None, "keepdim": False})
    for name, dtype in (("i32", torch.int32), ("u8", torch.uint8), ("bool", torch.bool)):
        c = f.case(f"sum_{name}")  # integers add up in i64
        c.run("sum", lambda x, dim, keepdim: torch.sum(x, dim, keepdim=keepdim),
              {"x": c.integers(0, 200 if dtype != torch.bool else 2, 3, 5, dtype=dtype)},
              {"dim": (1,), "keepdim": False})
    for op, function in (("amax", torch.amax), ("amin", torch.amin)):
        c = f.case(f"{op}_ties")  # the gradient is shared evenly among equals
        c.run(op, lambda x, dim, keepdim, function=function: function(x, dim, keepdim=keepdim),
              {"x": c.integers(0, 2, 3, 5).double()}, {"dim": (1,), "keepdim": False})


def deviations(f):
    def call(x, dim, correction, keepdim):
        return torch.std(x, dims_of(dim, x), correction=correction, keepdim=keepdim)

    for name, (dim, keepdim) in DIMS.items():
        for correction in (0, 1):
            c = f.case(f"std_{correction}_{name}")
            c.run("std", call, {"x": c.normal(*SHAPE)},
                  {"dim": dim, "correction": correction, "keepdim": keepdim})
    c = f.case("std_of_equals")  # no gradient
    c.run("std", call, {"x": torch.ones(2, 3, dtype=torch.float64)},
          {"dim": (1,), "correction": 1, "keepdim": False})


def log_sums(f):
    def call(x, dim, keepdim):
        return torch.logsumexp(x, dims_of(dim, x), keepdim)

    for name, (dim, keepdim) in DIMS.items():
        c = f.case(f"logsumexp_{name}")
        c.run("logsumexp", call, {"x": c.normal(*SHAPE)}, {"dim": dim, "keepdim": keepdim})
    c = f.case("logsumexp_large")
    c.run("logsumexp", call, {"x": 1000 * c.normal(3, 4)}, {"dim": (1,), "keepdim": False})
    c = f.case("logsumexp_transposed")
    c.run("logsumexp", call, {"x": c.normal(*SHAPE)}, {"dim": (0,), "keepdim": False},
          {"x": "transpose:0:2"})


def arg_min(f):
    for name, dim, keepdim in (("dim", 1, False), ("keepdim", -1, True)):
        c = f.case(f"argmin_{name}")
        c.run("argmin", torch.argmin, {"x": c.distinct(*SHAPE)}, {"dim": dim, "keepdim": keepdim},
              const=("x",))


def along(f):
    for name, dim, strided in (("default", 1, {}), ("last", -1, {}),
                               ("transposed", 0, {"x": "transpose:0:2"}),
                               ("step2", 2, {"x": "step:2:2"})):
        c = f.case(f"cumsum_{name}")
        c.run("cumsum", torch.cumsum, {"x": c.normal(*SHAPE)}, {"dim": dim}, strided)
    c = f.case("cumsum_i32")
    c.run("cumsum", torch.cumsum, {"x": c.integers(-9, 9, 3, 5, dtype=torch.int32)}, {"dim": 0})


def ranked(f):
    def pair(result):
        return result.values, {"indices": result.indices}

    for op, function in (("max", torch.max), ("min", torch.min)):
        for name, dim, keepdim, strided in (
                ("dim", 1, False, {}), ("keepdim", -1, True, {}),
                ("transposed", 0, False, {"x": "transpose:0:2"}),
                ("step2", 2, False, {"x": "step:2:2"})):
            c = f.case(f"{op}_{name}")
            c.run(op, lambda x, dim, keepdim, function=function: pair(function(x, dim, keepdim)),
                  {"x": c.distinct(*SHAPE)}, {"dim": dim, "keepdim": keepdim}, strided)
    for name, shape, k, dim, largest, strided in (
            ("default", (3, 5), 2, -1, True, {}), ("smallest", (3, 5), 3, -1, False, {}),
            ("all", (2, 6), 6, 1, True, {}), ("none", (2, 3), 0, 1, True, {}),
            ("middle", SHAPE, 2, 1, True, {}), ("many", (2, 40), 30, -1, True, {}),
            ("transposed", (5, 3), 2, 1, False, {"x": "transpose:0:1"})):
        c = f.case(f"topk_{name}")
        c.run("topk", lambda x, k, dim, largest: pair(torch.topk(x, k, dim, largest)),
              {"x": c.distinct(*shape)}, {"k": k, "dim": dim, "largest": largest}, strided)
    for name, shape, dim, descending, strided in (
            ("default", (3, 7), -1, False, {}), ("descending", SHAPE, 1, True, {}),
            ("transposed", (20, 3), 1, False, {"x": "transpose:0:1"})):
        c = f.case(f"sort_{name}")
        c.run("sort", lambda x, dim, descending: pair(torch.sort(x, dim, descending)),
              {"x": c.distinct(*shape)}, {"dim": dim, "descending": descending}, strided)
    c = f.case("sort_ties")
    c.run("sort", lambda x, dim, descending: pair(torch.sort(x, dim=dim, descending=descending,
                                                             stable=True)),
          {"x": c.integers(0, 3, 4, 20).double()}, {"dim": 1, "descending": True})


def build(f):
    reduction(f, "sum", torch.sum, "normal")
    reduction(f, "mean", torch.mean, "normal")
    reduction(f, "amax", torch.amax, "distinct")
    reduction(f, "amin", torch.amin, "distinct")
    variances(f)
    arg_max(f)
    special(f)
    deviations(f)
    log_sums(f)
    arg_min(f)
    along(f)
    ranked(f)
