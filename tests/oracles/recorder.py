# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Records what PyTorch computes for a case: inputs, output, upstream gradient, input gradients.

README.md describes the names and the metadata that this file writes.
"""

import json
import struct
import zlib

import numpy as np
import torch

STEP = 1024.0  # stored numbers are multiples of 1/1024 below 4 in size: exact in f32 too


def derive(stored, how):
    """The view (or re-laid copy) of `stored` that a strided case feeds to the op."""
    if how == "channels_last":
        return stored.contiguous(memory_format=torch.channels_last)
    kind, *numbers = how.split(":")
    numbers = [int(n) for n in numbers]
    if kind == "transpose":
        return stored.transpose(*numbers)
    if kind == "step":
        dim, step = numbers
        return stored[(slice(None),) * dim + (slice(None, None, step),)]
    if kind == "expand":
        dim, size = numbers
        return stored.expand([size if d == dim else -1 for d in range(stored.dim())])
    raise ValueError(f"unknown derivation {how}")


class Case:
    """One case of a family. Its numbers depend on the names of family and case only."""

    def __init__(self, family, name):
        self.family = family
        self.name = name
        self.rng = np.random.default_rng(zlib.crc32(f"{family.name}/{name}".encode()))

    def normal(self, *shape):
        x = np.clip(self.rng.standard_normal(shape), -3.5, 3.5)
        return torch.from_numpy(np.asarray(np.round(x * STEP) / STEP))

    def uniform(self, low, high, *shape):
        x = self.rng.uniform(low, high, shape)
        return torch.from_numpy(np.asarray(np.round(x * STEP) / STEP))

    def distinct(self, *shape):
        """No two elements alike, so that a maximum is unique."""
        n = int(np.prod(shape))
        return torch.from_numpy((self.rng.permutation(n).reshape(shape) - n // 2) / 64.0)

    def integers(self, low, high, *shape, dtype=torch.int64):
        return torch.from_numpy(np.asarray(self.rng.integers(low, high, shape))).to(dtype)

    def put(self, key, tensor):
        self.family.put(f"{self.name}.{key}", tensor)

    def describe(self, op, **parameters):
        self.family.metadata[self.name] = json.dumps({"op": op, **parameters})

    def run(self, op, function, inputs, parameters=None, strided=None, const=()):
        """Runs `function(*views, **parameters)`, which gives a tensor or (tensor, {name: tensor}).

        inputs      stored tensors by name, in the order of the function's arguments
        strided     input name -> derivation
        const       names of float inputs that get no gradient
        """
        parameters = dict(parameters or {})
        strided = dict(strided or {})
        leaves = {}
        for name, tensor in inputs.items():
            self.put(f"in.{name}", tensor)
            with_grad = tensor.is_floating_point() and name not in const
            leaves[name] = tensor.detach().clone().requires_grad_(with_grad)
        views = [derive(t, strided[n]) if n in strided else t for n, t in leaves.items()]
        result = function(*views, **parameters)
        out, extra = result if isinstance(result, tuple) else (result, {})
        self.put("out", out)
        for name, tensor in extra.items():
            self.put(f"out.{name}", tensor)
        self.backward(out, leaves)
        self.describe(op, **parameters, inputs=list(inputs), strided=strided)

    def backward(self, out, leaves):
        if not out.requires_grad:
            return
        grad_out = self.normal(*out.shape).to(out.dtype)
        self.put("grad_out", grad_out)
        out.backward(grad_out)
        for name, leaf in leaves.items():
            if leaf.requires_grad:
                grad = leaf.grad if leaf.grad is not None else torch.zeros_like(leaf)
                self.put(f"grad.{name}", grad)


class Family:
    """The cases of one file."""

    TYPES = {torch.float64: "F64", torch.float32: "F32", torch.int64: "I64", torch.int32: "I32",
             torch.uint8: "U8", torch.bool: "BOOL"}

    def __init__(self, name):
        self.name = name
        self.tensors = {}
        self.metadata = {}

    def case(self, name):
        if name in self.metadata or "." in name:
            raise ValueError(f"{self.name}: case name {name} is taken or has a dot")
        return Case(self, name)

    def put(self, key, tensor):
        if key in self.tensors:
            raise ValueError(f"{self.name}: key {key} is taken")
        self.tensors[key] = tensor.detach().clone(memory_format=torch.contiguous_format)

    def serialized(self):
        """A safetensors file: size of the header, header (JSON padded to 8 bytes), data.

        Wide types come first, so that every tensor is aligned; the order is otherwise that of the
        cases, and the same in every run.
        """
        order = sorted(self.tensors, key=lambda key: -self.tensors[key].element_size())
        header = {"__metadata__": self.metadata}
        data = b""
        for key in order:
            tensor = self.tensors[key]
            content = tensor.numpy().tobytes()
            header[key] = {"dtype": self.TYPES[tensor.dtype], "shape": list(tensor.shape),
                           "data_offsets": [len(data), len(data) + len(content)]}
            data += content
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        return struct.pack("<Q", len(text)) + text + data
