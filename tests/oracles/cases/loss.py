# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Cross entropy and mean squared error."""

import torch
import torch.nn.functional as F

CLASSES = 4


def cross_entropy(f, name, shape, reduction="mean", ignore_index=-100, ignored=(), weight=False,
                  strided=None, scale=1.0):
    """`ignored` are positions in the flattened target. The sum of the targets' weights, which
    divides for "mean", is `out.denominator`."""
    c = f.case(f"cross_entropy_{name}")
    how = (strided or {}).get("logits")
    shape_of_target = {None: (shape[0], *shape[2:]), "transpose:0:1": (shape[1], *shape[2:]),
                       "transpose:1:2": (shape[0], shape[1]), "step:0:2": ((shape[0] + 1) // 2,),
                       "channels_last": (shape[0], *shape[2:])}[how]
    target = c.integers(0, CLASSES, *shape_of_target)
    for position in ignored:
        target.view(-1)[position] = ignore_index
    inputs = {"logits": scale * c.normal(*shape), "target": target}
    if weight:
        inputs["weight"] = c.uniform(0.25, 2, CLASSES)

    def call(logits, target, weight=None, *, reduction, ignore_index):
        loss = F.cross_entropy(logits, target, weight, ignore_index=ignore_index,
                               reduction=reduction)
        kept = target[target != ignore_index]
        weights = torch.ones(CLASSES, dtype=logits.dtype) if weight is None else weight
        return loss, {"denominator": weights[kept].sum()}

    c.run("cross_entropy", call, inputs, {"reduction": reduction, "ignore_index": ignore_index},
          strided, const=("weight",))


def cross_entropies(f):
    for reduction in ("mean", "sum", "none"):
        rest = {"reduction": reduction}
        cross_entropy(f, reduction, (5, CLASSES), **rest)
        cross_entropy(f, f"{reduction}_ignored", (5, CLASSES), ignored=(1, 4), **rest)
        cross_entropy(f, f"{reduction}_ignored_2", (5, CLASSES), ignore_index=2, ignored=(0, 3),
                      **rest)
        cross_entropy(f, f"{reduction}_weight", (5, CLASSES), weight=True, **rest)
        cross_entropy(f, f"{reduction}_weight_ignored", (6, CLASSES), weight=True, ignored=(2,),
                      **rest)
        cross_entropy(f, f"{reduction}_length", (2, CLASSES, 3), ignored=(1,), weight=True, **rest)
        cross_entropy(f, f"{reduction}_image", (2, CLASSES, 2, 3), ignored=(5,), **rest)
        cross_entropy(f, f"{reduction}_all_ignored", (3, CLASSES), ignored=(0, 1, 2), **rest)
        cross_entropy(f, f"{reduction}_transposed", (CLASSES, 5),
                      strided={"logits": "transpose:0:1"}, **rest)
        cross_entropy(f, f"{reduction}_step2", (9, CLASSES), strided={"logits": "step:0:2"}, **rest)
        cross_entropy(f, f"{reduction}_length_transposed", (2, 3, CLASSES),
                      strided={"logits": "transpose:1:2"}, **rest)
        cross_entropy(f, f"{reduction}_image_channels_last", (2, CLASSES, 2, 3),
                      strided={"logits": "channels_last"}, **rest)
    cross_entropy(f, "large_logits", (3, CLASSES), scale=1000.0)  # exp alone would overflow


def mean_squared_errors(f):
    for reduction in ("mean", "sum", "none"):
        parameters = {"reduction": reduction}
        for name, x, y, strided in (("", (3, 4), (3, 4), {}),
                                    ("_3d", (2, 3, 4), (2, 3, 4), {}),
                                    ("_transposed", (4, 3), (3, 4), {"x": "transpose:0:1"}),
                                    ("_step2", (3, 4), (3, 8), {"target": "step:1:2"})):
            c = f.case(f"mse_{reduction}{name}")
            c.run("mse", F.mse_loss, {"x": c.normal(*x), "target": c.normal(*y)}, parameters,
                  strided)


def build(f):
    cross_entropies(f)
    mean_squared_errors(f)
