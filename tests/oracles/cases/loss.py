# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Cross entropy, with and without its softmax, and losses of two tensors, element by element."""

import torch
import torch.nn.functional as F

CLASSES = 4


def cross_entropy(f, name, shape, reduction="mean", ignore_index=-100, ignored=(), weight=False,
                  strided=None, scale=1.0, **smoothing):
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

    def call(logits, target, weight=None, *, reduction, ignore_index, **smoothing):
        loss = F.cross_entropy(logits, target, weight, ignore_index=ignore_index,
                               reduction=reduction, **smoothing)
        kept = target[target != ignore_index]
        weights = torch.ones(CLASSES, dtype=logits.dtype) if weight is None else weight
        return loss, {"denominator": weights[kept].sum()}

    c.run("cross_entropy", call, inputs,
          {"reduction": reduction, "ignore_index": ignore_index, **smoothing}, strided,
          const=("weight",))


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


def smoothed_cross_entropies(f):
    for reduction in ("mean", "sum", "none"):
        rest = {"reduction": reduction, "label_smoothing": 0.125}
        cross_entropy(f, f"smooth_{reduction}", (5, CLASSES), **rest)
        cross_entropy(f, f"smooth_{reduction}_weight_ignored", (6, CLASSES), weight=True,
                      ignored=(2, 3), **rest)
        cross_entropy(f, f"smooth_{reduction}_image", (2, CLASSES, 2, 3), weight=True, ignored=(5,),
                      strided={"logits": "channels_last"}, **rest)
    cross_entropy(f, "smooth_all", (5, CLASSES), weight=True, label_smoothing=1.0)


def likelihoods(f):
    def call(logs, target, weight=None, *, reduction, ignore_index):
        loss = F.nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
        weights = torch.ones(CLASSES, dtype=logs.dtype) if weight is None else weight
        return loss, {"denominator": weights[target[target != ignore_index]].sum()}

    for reduction in ("mean", "sum", "none"):
        for name, shape, weight, ignored, strided in (
                ("", (5, CLASSES), False, (), {}), ("_weight", (5, CLASSES), True, (1,), {}),
                ("_image", (2, CLASSES, 2, 3), True, (4, 5), {}),
                ("_transposed", (CLASSES, 5), False, (0,), {"logs": "transpose:0:1"})):
            c = f.case(f"nll_{reduction}{name}")
            rows = shape[1] if strided else shape[0]
            target = c.integers(0, CLASSES, rows, *shape[2:])
            target.view(-1)[list(ignored)] = -100
            inputs = {"logs": c.normal(*shape), "target": target}
            if weight:
                inputs["weight"] = c.uniform(0.25, 2, CLASSES)
            c.run("nll", call, inputs, {"reduction": reduction, "ignore_index": -100}, strided,
                  const=("weight",))


def pairs(f):
    def one(op, name, function, target, parameters=None, inputs=(), const=()):
        for reduction in ("mean", "sum", "none"):
            for layout, shape, strided in (("", (3, 4), {}), ("_transposed", (4, 3),
                                                              {"x": "transpose:0:1"})):
                c = f.case(f"{name}_{reduction}{layout}")
                more = {key: c.uniform(0.25, 2, *s) for key, s in inputs}
                c.run(op, function, {"x": c.normal(*shape), "target": target(c), **more},
                      {"reduction": reduction, **(parameters or {})}, strided, const)

    normal = lambda c: c.normal(3, 4)
    share = lambda c: c.uniform(0, 1, 3, 4)
    one("l1", "l1", F.l1_loss, normal)
    one("smooth_l1", "smooth_l1", F.smooth_l1_loss, normal, {"beta": 1.0})
    one("smooth_l1", "smooth_l1_wide", F.smooth_l1_loss, normal, {"beta": 2.5})
    one("smooth_l1", "smooth_l1_sharp", F.smooth_l1_loss, normal, {"beta": 0.0})
    one("huber", "huber", F.huber_loss, normal, {"delta": 1.5})

    def entropy(x, target, weight=None, pos_weight=None, *, reduction):
        return F.binary_cross_entropy_with_logits(x, target, weight, pos_weight=pos_weight,
                                                  reduction=reduction)

    one("bce", "bce", entropy, share)
    weights = (("weight", (3, 1)), ("pos_weight", (4,)))
    one("bce", "bce_weights", entropy, share, inputs=weights, const=("weight", "pos_weight"))
    for kind in (False, True):
        one("kl_div", f"kl_div_{'log' if kind else 'plain'}",
            lambda x, target, reduction, log_target: F.kl_div(x, target, reduction=reduction,
                                                              log_target=log_target),
            normal if kind else share, {"log_target": kind})
    c = f.case("kl_div_batchmean")
    c.run("kl_div", lambda x, target, reduction, log_target: F.kl_div(
        x, target, reduction=reduction, log_target=log_target),
          {"x": c.normal(3, 4), "target": c.uniform(0, 1, 3, 4)},
          {"reduction": "batchmean", "log_target": False})
    c = f.case("kl_div_zeros")  # 0 log 0 is 0
    c.run("kl_div", lambda x, target, reduction, log_target: F.kl_div(
        x, target, reduction=reduction, log_target=log_target),
          {"x": c.normal(4), "target": torch.tensor([0.0, 0.5, 0.5, 0.0]).double()},
          {"reduction": "sum", "log_target": False}, const=("target",))


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
    smoothed_cross_entropies(f)
    likelihoods(f)
    pairs(f)
