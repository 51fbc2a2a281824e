# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Modules of transformers and small models, forward and backward, without dropout.

`in.<name>` holds the arguments of the call that `inputs` names, `state.<name>` the state dict, `grad.<name>` the
gradients of float arguments and of parameters under their first names.
"""

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, CONTEXT, WIDTH, HEADS = 11, 6, 8, 2


class Block(nn.Module):
    """A block of GPT-2 (pre) or BERT (post)."""

    def __init__(self, place, gelu, eps):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH, eps)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.norm2 = nn.LayerNorm(WIDTH, eps)
        self.fc = nn.Linear(WIDTH, 4 * WIDTH)
        self.proj = nn.Linear(4 * WIDTH, WIDTH)
        self.place, self.gelu = place, gelu

    def feed_forward(self, x):
        return self.proj(F.gelu(self.fc(x), approximate=self.gelu))

    def attend(self, x, **masks):
        return self.attention(x, x, x, need_weights=False, **masks)[0]

    def forward(self, x, **masks):
        if self.place == "pre":
            x = x + self.attend(self.norm1(x), **masks)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.attend(x, **masks))
        return self.norm2(x + self.feed_forward(x))


class Gpt(nn.Module):
    def __init__(self, tied):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.position = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList([Block("pre", "tanh", 1e-5) for _ in range(2)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, index):
        length = index.shape[1]
        hidden = torch.full((length, length), float("-inf"), dtype=torch.float64).triu(1)
        x = self.embed(index) + self.position.weight[:length]
        for block in self.blocks:
            x = block(x, attn_mask=hidden)
        return self.head(self.norm(x))


class Encoder(nn.Module):
    """BERT without what follows the last block."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.position = nn.Embedding(CONTEXT, WIDTH)
        self.segment = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, 1e-12)
        self.blocks = nn.ModuleList([Block("post", "none", 1e-12) for _ in range(2)])

    def forward(self, index, segments, padding):
        x = self.embed(index) + self.position.weight[:index.shape[1]] + self.segment(segments)
        x = self.norm(x)
        for block in self.blocks:
            x = block(x, key_padding_mask=padding)
        return x


class Bert(Encoder):
    def __init__(self):
        super().__init__()
        self.pooler = nn.Linear(WIDTH, WIDTH)

    def forward(self, index, segments, padding):
        x = super().forward(index, segments, padding)
        return torch.cat([x, torch.tanh(self.pooler(x[:, 0])).unsqueeze(1)], 1)


class BertMaskedLm(Encoder):
    """Hugging Face's BertForMaskedLM: its transform, its norm, and its decoder tied to the embedding."""

    def __init__(self):
        super().__init__()
        self.transform = nn.Linear(WIDTH, WIDTH)
        self.transform_norm = nn.LayerNorm(WIDTH, 1e-12)
        self.decoder = nn.Linear(WIDTH, VOCABULARY)
        self.decoder.weight = self.embed.weight

    def forward(self, index, segments, padding):
        x = super().forward(index, segments, padding)
        return self.decoder(self.transform_norm(F.gelu(self.transform(x))))


class Attention(nn.Module):
    """Its output alone."""

    def __init__(self, **options):
        super().__init__()
        self.inner = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True, **options)

    def forward(self, query, key, value, key_padding=None, attention=None):
        return self.inner(query, key, value, key_padding_mask=key_padding, attn_mask=attention,
                          need_weights=False)[0]


def record(c, op, module, inputs, prefix="", **parameters):
    module = module.double()
    state, first = {}, {}
    for name, old in module.state_dict(keep_vars=True).items():
        if old not in first:  # a tied weight has the values of its first name
            first[old] = c.normal(*old.shape)
        state[name] = first[old]
    module.load_state_dict(state)
    for name, tensor in state.items():
        c.put(f"state.{name.removeprefix(prefix)}", tensor)
    leaves = {}
    for name, tensor in inputs.items():
        c.put(f"in.{name}", tensor)
        leaves[name] = tensor.clone().requires_grad_(tensor.is_floating_point()
                                                     and name != "attention")
    out = module(*leaves.values())
    c.put("out", out)
    named = {name.removeprefix(prefix): p for name, p in module.named_parameters()}
    c.backward(out, leaves | named)
    c.describe(op, inputs=list(inputs), **parameters)


def attention(f):
    def case(name, masks=(), bias=True):
        c = f.case(f"attention_{name}")
        q, kv = c.normal(2, 5, WIDTH), c.normal(2, 7, WIDTH)
        inputs = {"query": q, "key": kv, "value": c.normal(2, 7, WIDTH)}
        padding = c.integers(0, 2, 2, 7, dtype=torch.bool)
        padding[:, 2] = False
        inputs["key_padding"] = padding if "padding" in masks else torch.zeros_like(padding)
        if "added" in masks:
            inputs["attention"] = c.normal(5, 7)
        if "hidden" in masks:
            inputs["attention"] = c.integers(0, 2, 5, 7, dtype=torch.bool)
            inputs["attention"][:, 2] = False
        record(c, "MultiheadAttention", Attention(bias=bias), inputs, "inner.", bias=bias)

    case("plain")
    case("no_bias", bias=False)
    case("padding", ("padding",))
    case("hidden", ("padding", "hidden"))
    case("added", ("added",))


def models(f):
    for tied in (True, False):
        c = f.case("gpt_tied" if tied else "gpt_untied")
        record(c, "Gpt", Gpt(tied), {"index": c.integers(0, VOCABULARY, 3, 5)}, tied=tied)
    c = f.case("bert")
    padding = torch.tensor([[False] * 5, [False, False, False, True, True], [False] * 4 + [True]])
    record(c, "Bert", Bert(), {"index": c.integers(0, VOCABULARY, 3, 5),
                               "segments": c.integers(0, 2, 3, 5), "key_padding": padding})
    c = f.case("bert_masked_lm")
    record(c, "BertMaskedLm", BertMaskedLm(),
           {"index": c.integers(0, VOCABULARY, 3, 5), "segments": c.integers(0, 2, 3, 5),
            "key_padding": padding})


def build(f):
    attention(f)
    models(f)
