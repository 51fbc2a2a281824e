# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Maximum, average and adaptive average pooling in two dimensions."""

import torch.nn.functional as F


def layouts(stored, transposed):
    """Case suffix, shape of the stored input, derivation."""
    return (("", stored, {}), ("_channels_last", stored, {"x": "channels_last"}),
            ("_transposed", transposed, {"x": "transpose:2:3"}))


def max_pool(x, kernel_size, stride, padding):
    out, indices = F.max_pool2d(x, kernel_size, stride, padding, return_indices=True)
    return out, {"indices": indices}  # in the h * w elements of the plane, padding not counted


def max_pools(f):
    windows = {"default": ((2, 2), (2, 2), (0, 0)), "overlap": ((3, 3), (2, 1), (1, 1)),
               "uneven": ((3, 2), (1, 2), (1, 0))}
    for name, (kernel, stride, padding) in windows.items():
        for suffix, shape, strided in layouts((2, 3, 6, 5), (2, 3, 5, 6)):
            c = f.case(f"max_pool2d_{name}{suffix}")
            c.run("max_pool2d", max_pool, {"x": c.distinct(*shape)},
                  {"kernel_size": kernel, "stride": stride, "padding": padding}, strided)
    window = {"kernel_size": (2, 2), "stride": (2, 2), "padding": (0, 0)}
    c = f.case("max_pool2d_ties")  # the first of equals, row by row
    c.run("max_pool2d", max_pool, {"x": c.integers(0, 2, 2, 2, 4, 4).double()}, window)
    c = f.case("max_pool2d_negative")  # padding never wins
    c.run("max_pool2d", max_pool, {"x": c.distinct(1, 2, 4, 4) - 8.0},
          {"kernel_size": (3, 3), "stride": (1, 1), "padding": (1, 1)})


def average_pools(f):
    windows = {"default": ((2, 2), (2, 2), (0, 0), True),
               "padded": ((3, 2), (2, 1), (1, 1), True),
               "padded_not_counted": ((3, 2), (2, 1), (1, 1), False),
               "uneven": ((2, 3), (1, 2), (0, 1), False)}
    function = lambda x, kernel_size, stride, padding, count_include_pad: F.avg_pool2d(
        x, kernel_size, stride, padding, count_include_pad=count_include_pad)
    for name, (kernel, stride, padding, count) in windows.items():
        for suffix, shape, strided in layouts((2, 3, 6, 5), (2, 3, 5, 6)):
            c = f.case(f"avg_pool2d_{name}{suffix}")
            c.run("avg_pool2d", function, {"x": c.normal(*shape)},
                  {"kernel_size": kernel, "stride": stride, "padding": padding,
                   "count_include_pad": count}, strided)


def adaptive_pools(f):
    sizes = {"global": (1, 1), "uneven": (3, 2), "same": (7, 5), "larger": (9, 6)}
    for name, size in sizes.items():
        for suffix, shape, strided in layouts((2, 3, 7, 5), (2, 3, 5, 7)):
            c = f.case(f"adaptive_avg_pool2d_{name}{suffix}")
            c.run("adaptive_avg_pool2d", F.adaptive_avg_pool2d, {"x": c.normal(*shape)},
                  {"output_size": size}, strided)


def build(f):
    max_pools(f)
    average_pools(f)
    adaptive_pools(f)
