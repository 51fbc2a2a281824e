# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic with broadcasting, unary functions, powers, comparison, where."""

import math

import torch

BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div,
          "maximum": torch.maximum, "minimum": torch.minimum}
COMPARE = {"eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt,
           "ge": torch.ge}
# op -> function, interval of its ordinary inputs, unusual inputs
UNARY = {
    "neg": (torch.neg, (-3, 3), [0.0, -0.0, 1e300, -1e-300]),
    "abs": (torch.abs, (-3, 3), [0.0, -0.0, 1e300, -1e-300]),
    "exp": (torch.exp, (-3, 3), [0.0, -745.0, -50.0, 50.0, 700.0]),
    "log": (torch.log, (0.125, 4), [1.0, 1e-300, 1e300, 0.9990234375]),
    "sqrt": (torch.sqrt, (0.125, 4), [1.0, 1e-300, 1e300]),
    "rsqrt": (torch.rsqrt, (0.125, 4), [1.0, 1e-100, 1e100]),
    "reciprocal": (torch.reciprocal, (0.125, 4), [1.0, -0.5, 1e-100, 1e100]),
    "square": (torch.square, (-3, 3), [0.0, -1e100, 1e-100]),
    "sin": (torch.sin, (-3, 3), [0.0, 1e-9, 100.0, -1000.0]),
    "cos": (torch.cos, (-3, 3), [0.0, 1e-9, 100.0, -1000.0]),
    "erf": (torch.erf, (-3, 3), [0.0, 1e-9, -6.0, 6.0, 30.0]),
}


def binary(f, op, function):
    def right(c, *shape):  # away from zero, since it may be a divisor
        return c.uniform(0.25, 3, *shape) * (2 * c.integers(0, 2, *shape) - 1)

    def pair(name, x_shape, y_shape, strided=None):
        c = f.case(f"{op}_{name}")
        c.run(op, function, {"x": c.normal(*x_shape), "y": right(c, *y_shape)}, strided=strided)

    pair("same", (3, 4), (3, 4))
    pair("broadcast", (2, 1, 4), (3, 1))
    pair("scalar_tensor", (2, 3), ())
    pair("transposed", (4, 3), (3, 4), {"x": "transpose:0:1"})
    pair("step2", (3, 4), (3, 8), {"y": "step:1:2"})
    pair("expanded", (1, 4), (3, 4), {"x": "expand:0:3"})
    pair("channels_last", (2, 3, 2, 2), (2, 3, 2, 2), {"x": "channels_last", "y": "channels_last"})
    pair("empty", (0, 3), (1, 3))
    if op in ("maximum", "minimum"):  # a tie gives each side half of the gradient
        c = f.case(f"{op}_ties")
        c.run(op, function, {"x": c.integers(0, 2, 3, 4).double(),
                             "y": c.integers(0, 2, 3, 4).double()})
    else:
        c = f.case(f"{op}_scalar")
        c.run(f"{op}_scalar", function, {"x": c.normal(3, 4)}, {"other": 2.5})


def promotions(f):
    for op, x_type, y_type in (("add", torch.int32, torch.float32), ("mul", torch.uint8, torch.int32),
                               ("sub", torch.int32, torch.int64), ("add", torch.bool, torch.float64),
                               ("mul", torch.float32, torch.float64)):
        c = f.case(f"{op}_{name_of(x_type)}_{name_of(y_type)}")
        c.run(op, BINARY[op], {"x": c.integers(0, 2, 2, 3).to(x_type),
                               "y": c.integers(0, 9, 2, 3).to(y_type)}, const=("x", "y"))
    c = f.case("div_int64_int64")  # true division: f32
    c.run("div", torch.div, {"x": c.integers(-9, 9, 2, 3), "y": c.integers(1, 9, 2, 3)})


def name_of(dtype):
    return str(dtype).removeprefix("torch.")


def unary(f, op, function, interval, unusual):
    c = f.case(f"{op}_default")
    c.run(op, function, {"x": c.uniform(*interval, 3, 5)})
    c = f.case(f"{op}_unusual")
    c.run(op, function, {"x": torch.tensor(unusual, dtype=torch.float64)})
    c = f.case(f"{op}_transposed")
    c.run(op, function, {"x": c.uniform(*interval, 2, 3, 4)}, strided={"x": "transpose:0:2"})
    c = f.case(f"{op}_step2")
    c.run(op, function, {"x": c.uniform(*interval, 3, 6)}, strided={"x": "step:1:2"})


def powers(f):
    for name, exponent in (("square", 2.0), ("cube", 3.0), ("root", 0.5), ("zero", 0.0),
                           ("one", 1.0), ("inverse", -1.0), ("fraction", -1.5)):
        c = f.case(f"pow_{name}")
        c.run("pow", torch.pow, {"x": c.uniform(0.25, 3, 3, 4)}, {"exponent": exponent})
    c = f.case("pow_negative_base")
    c.run("pow", torch.pow, {"x": c.uniform(-3, 3, 3, 4)}, {"exponent": 3.0})
    for name, exponent in (("2", 2.0), ("0", 0.0), ("1", 1.0)):
        c = f.case(f"pow_of_zero_to_{name}")
        c.run("pow", torch.pow, {"x": torch.zeros(2, dtype=torch.float64)}, {"exponent": exponent})
    c = f.case("pow_transposed")
    c.run("pow", torch.pow, {"x": c.uniform(0.25, 3, 3, 4)}, {"exponent": 2.5},
          {"x": "transpose:0:1"})


def tensor_powers(f):
    def one(name, x, y, strided=None):
        c = f.case(f"pow_tensor_{name}")
        c.run("pow_tensor", torch.pow, {"x": c.uniform(0.25, 3, *x), "y": c.uniform(-2, 2, *y)},
              strided=strided)

    one("same", (3, 4), (3, 4))
    one("broadcast", (2, 1, 4), (3, 1))
    one("transposed", (4, 3), (3, 4), {"x": "transpose:0:1"})
    c = f.case("pow_tensor_of_zero")
    c.run("pow_tensor", torch.pow, {"x": torch.zeros(3, dtype=torch.float64),
                                    "y": torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64)})


def clamps(f):
    for name, low, high in (("both", -1.0, 0.5), ("min", -0.25, None), ("max", None, 1.0),
                            ("crossed", 1.0, -1.0)):
        c = f.case(f"clamp_{name}")
        c.run("clamp", lambda x, min, max: torch.clamp(x, min, max), {"x": c.normal(3, 5)},
              {"min": low, "max": high})
    c = f.case("clamp_at_the_bounds")
    c.run("clamp", lambda x, min, max: torch.clamp(x, min, max),
          {"x": torch.tensor([-1.0, 1.0, 0.0, math.nan, math.inf]).double()},
          {"min": -1.0, "max": 1.0})
    c = f.case("clamp_int64")
    c.run("clamp", lambda x, min, max: torch.clamp(x, min, max), {"x": c.integers(-9, 9, 12)},
          {"min": -3, "max": 4})
    for name, shapes in (("same", ((3, 4), (3, 4), (3, 4))), ("broadcast", ((3, 4), (4,), (3, 1)))):
        c = f.case(f"clamp_tensor_{name}")
        x, low, high = (c.normal(*shape) for shape in shapes)
        c.run("clamp_tensor", torch.clamp, {"x": x, "min": low - 1, "max": high + 1})


def fills(f):
    for name, mask, strided in (("same", (3, 4), {}), ("broadcast", (4,), {}),
                                ("transposed", (3, 4), {"x": "transpose:0:1"})):
        c = f.case(f"masked_fill_{name}")
        c.run("masked_fill", lambda x, mask, value: x.masked_fill(mask, value),
              {"x": c.normal(4, 3) if strided else c.normal(3, 4),
               "mask": c.integers(0, 2, *mask, dtype=torch.bool)}, {"value": -1.5}, strided)


def comparisons(f, op, function):
    c = f.case(f"{op}_same")
    c.run(op, function, {"x": c.integers(0, 3, 3, 4).double(), "y": c.integers(0, 3, 3, 4).double()},
          const=("x", "y"))
    c = f.case(f"{op}_broadcast")
    c.run(op, function, {"x": c.integers(0, 3, 4, 1, 3), "y": c.integers(0, 3, 2, 1)})
    c = f.case(f"{op}_scalar")
    c.run(f"{op}_scalar", function, {"x": c.integers(0, 3, 3, 4).double()}, {"other": 1.0},
          const=("x",))
    c = f.case(f"{op}_transposed")
    c.run(op, function, {"x": c.integers(0, 3, 4, 3).double(), "y": c.integers(0, 3, 3, 4).double()},
          strided={"x": "transpose:0:1"}, const=("x", "y"))
    c = f.case(f"{op}_nan")
    nan = torch.tensor([math.nan, math.nan, 1.0, math.inf], dtype=torch.float64)
    c.run(op, function, {"x": nan, "y": torch.tensor([math.nan, 1.0, math.nan, math.inf]).double()},
          const=("x", "y"))


def wheres(f):
    def one(name, mask, x, y, strided=None):
        c = f.case(f"where_{name}")
        c.run("where", torch.where, {"condition": c.integers(0, 2, *mask, dtype=torch.bool),
                                     "x": c.normal(*x), "y": c.normal(*y)}, strided=strided)

    one("same", (3, 4), (3, 4), (3, 4))
    one("broadcast", (3, 1), (2, 1, 4), (1,))
    one("transposed", (4, 3), (3, 4), (3, 8),
        {"condition": "transpose:0:1", "y": "step:1:2"})


def build(f):
    for op, function in BINARY.items():
        binary(f, op, function)
    promotions(f)
    for op, row in UNARY.items():
        unary(f, op, *row)
    powers(f)
    tensor_powers(f)
    clamps(f)
    fills(f)
    for op, function in COMPARE.items():
        comparisons(f, op, function)
    wheres(f)
