# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What a transformer is made of: layer norm, group norm, embedding and attention."""

import torch
import torch.nn.functional as F


def norms(f):
    def layer(name, shape, normalized, affine=True, eps=1e-5, strided=None, shift=0.0):
        c = f.case(f"layer_norm_{name}")
        inputs = {"x": c.normal(*shape) + shift}
        if affine:
            inputs |= {"weight": c.normal(*normalized), "bias": c.normal(*normalized)}

        def call(x, weight=None, bias=None, *, normalized_shape, eps):
            return F.layer_norm(x, normalized_shape, weight, bias, eps)

        c.run("layer_norm", call, inputs, {"normalized_shape": list(normalized), "eps": eps}, strided)

    def group(name, shape, groups, affine=True, eps=1e-5, strided=None):
        c = f.case(f"group_norm_{name}")
        inputs = {"x": c.normal(*shape)}
        if affine:
            inputs |= {"weight": c.normal(shape[1]), "bias": c.normal(shape[1])}

        def call(x, weight=None, bias=None, *, num_groups, eps):
            return F.group_norm(x, num_groups, weight, bias, eps)

        c.run("group_norm", call, inputs, {"num_groups": groups, "eps": eps}, strided)

    layer("rows", (3, 5, 6), (6,))
    layer("two_dims", (3, 5, 6), (5, 6))
    layer("no_affine", (4, 7), (7,), affine=False)
    layer("parameters", (4, 7), (7,), eps=1e-2)
    layer("transposed", (7, 4), (7,), strided={"x": "transpose:0:1"})
    layer("far_from_zero", (3, 40), (40,), shift=32768.0)
    group("images", (3, 6, 2, 4), 3)
    group("one_group", (3, 6, 5), 1)
    group("each_channel", (2, 4, 3, 3), 4, eps=1e-2)
    group("no_inner", (3, 6), 2)
    group("no_affine", (2, 4, 5), 2, affine=False)
    group("channels_last", (2, 4, 3, 2), 2, strided={"x": "channels_last"})


def embeddings(f):
    def case(name, shape, padding=None, strided=None):
        c = f.case(f"embedding_{name}")
        inputs = {"index": c.integers(0, 7, *shape), "weight": c.normal(7, 4)}

        def call(index, weight, *, padding_idx):
            return F.embedding(index, weight, padding_idx)

        c.run("embedding", call, inputs, {"padding_idx": padding}, strided)

    case("sequences", (3, 5))
    case("scalar", ())
    case("padding", (4, 6), padding=2)
    case("padding_from_the_end", (9,), padding=-1)
    case("transposed", (3, 5), strided={"index": "transpose:0:1"})


def attention(f):
    def case(name, q, k, v, mask=None, causal=False, scale=None, strided=None, hide=()):
        c = f.case(f"attention_{name}")
        inputs = {"q": c.normal(*q), "k": c.normal(*k), "v": c.normal(*v)}
        if mask == "bool":
            inputs["mask"] = c.integers(0, 3, *hide, dtype=torch.bool)
            inputs["mask"][..., 0] = True
        elif mask == "unseen":  # a query that sees no key
            inputs["mask"] = c.integers(0, 2, *hide, dtype=torch.bool)
            inputs["mask"][..., 1, :] = False
        elif mask == "added":
            inputs["mask"] = c.normal(*hide)

        def call(q, k, v, mask=None, *, causal, scale):
            return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=scale)

        c.run("scaled_dot_product_attention", call, inputs, {"causal": causal, "scale": scale},
              strided, const=("mask",))

    q, k = (2, 3, 5, 4), (2, 3, 7, 4)
    case("plain", q, k, k)
    case("causal", q, q, q, causal=True)
    case("causal_more_keys", q, k, k, causal=True)
    case("causal_fewer_keys", k, q, q, causal=True)
    case("scale", q, k, k, scale=0.3)
    case("other_values", q, k, (2, 3, 7, 2))
    case("mask_bool", q, k, k, mask="bool", hide=(2, 1, 5, 7))
    case("mask_keys", q, k, k, mask="bool", hide=(2, 1, 1, 7))
    case("mask_unseen", q, k, k, mask="unseen", hide=(5, 7))
    case("mask_added", q, k, k, mask="added", hide=(3, 5, 7))
    case("one_head", (5, 4), (7, 4), (7, 4))
    case("three_dims", (3, 5, 4), (3, 7, 4), (3, 7, 4))
    case("five_dims", (2, 1, 2, 3, 4), (2, 1, 2, 5, 4), (2, 1, 2, 5, 4))
    case("heads_inside", (2, 5, 3, 4), (2, 7, 3, 4), (2, 7, 3, 4),
         strided={"q": "transpose:1:2", "k": "transpose:1:2", "v": "transpose:1:2"})
    case("dim_outside", (2, 3, 4, 5), (2, 3, 4, 7), (2, 3, 4, 7),
         strided={"q": "transpose:2:3", "k": "transpose:2:3", "v": "transpose:2:3"})
    case("shared_keys", q, (2, 1, 7, 4), (2, 1, 7, 4), strided={"k": "expand:1:3", "v": "expand:1:3"})
    case("several_blocks", (1, 1, 66, 2), (1, 1, 515, 2), (1, 1, 515, 2))


def build(f):
    norms(f)
    embeddings(f)
    attention(f)
