# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Every op of PyTorch's own list comes to the same on a GPU of the stand-in as on the host, and so do gradients."""

import itertools
import unittest

import expecttest_module
import torch
from control import StandInTest
from torch.utils._pytree import tree_leaves, tree_map

expecttest_module.provide()
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

SAMPLES = 4  # of each op
# What a generator draws, or memory that nobody has written; PyTorch's list says it of most.
RANDOM = {"cauchy", "exponential", "geometric", "log_normal", "normal", "normal_number_mean", "normal_in_place", "uniform", "bernoulli", "multinomial",
          "randn", "randn_like", "rand_like", "randint", "randint_like", "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty",
          "new_empty_strided", "nn_functional_fractional_max_pool2d", "nn_functional_fractional_max_pool3d", "nn_functional_rrelu"}
# They ask for tensors of one kind of device, or for a view that lies outside of the copy of its base.
OF_ONE_DEVICE = {"tensor_split", "as_strided_partial_views", "sparse_mm_reduce", "torch_ops_aten__scaled_dot_product_flash_attention_for_cpu"}
WITHOUT_A_WAIT = {"to"}  # non_blocking: the host would read too early


def is_random(op, sample):
    name = op.formatted_name
    return name in RANDOM or "dropout" in name or any("dropout" in key and value for key, value in sample.kwargs.items()) or \
        name == "nn_functional_multi_head_attention_forward"


def on_gpu(value):
    return tree_map(lambda x: x.detach().cuda().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else "cuda" if x == "cpu" else x, value)


def call(op, sample):
    """Results, and the gradients of their sum."""
    value, args, kwargs = sample
    found = [x for x in tree_leaves(op(value, *args, **kwargs)) if isinstance(x, torch.Tensor)]
    inputs = [x for x in tree_leaves(sample) if isinstance(x, torch.Tensor) and x.requires_grad]
    summed = [x.sum() for x in found if x.requires_grad and x.dtype == torch.float32 and x.layout == torch.strided]
    slopes = torch.autograd.grad(sum(summed), inputs, allow_unused=True) if inputs and summed else []
    return found, [x for x in slopes if x is not None]


def differ(x, y):
    is_number = x.layout == torch.strided and x.numel() > 0 and (x.is_floating_point() or x.is_complex())
    return is_number and not torch.allclose(x, y.cpu(), 1e-3, 1e-4, equal_nan=True)


def difference(op, sample):
    """Why a sample's results differ; empty: they do not, or the host has none."""
    parts = (sample.input, sample.args, sample.kwargs)
    try:
        expected = call(op, parts)
    except (RuntimeError, NotImplementedError, ValueError, IndexError):
        return ""
    try:
        found = call(op, on_gpu(parts))
    except (RuntimeError, NotImplementedError) as e:
        return str(e).split("\n", maxsplit=1)[0]
    if is_random(op, sample) or op.formatted_name in WITHOUT_A_WAIT:
        return ""
    if any(differ(x, y) for x, y in zip(*map(tree_leaves, (expected, found)), strict=True)):
        return "the values differ"
    return ""


class OpsTest(StandInTest):
    def test_ops(self):
        torch.manual_seed(0)
        wrong, run = {}, 0
        for op in op_db:
            if torch.float32 not in op.dtypes or torch.float32 not in op.dtypesIfCUDA:
                continue
            samples = op.sample_inputs("cpu", torch.float32, requires_grad=op.supports_autograd)
            why = [text for text in (difference(op, s) for s in itertools.islice(samples, SAMPLES)) if text]
            run += 1
            if why and op.formatted_name not in OF_ONE_DEVICE:
                wrong[op.formatted_name] = why[0]
        self.assertGreater(run, 500)
        self.assertEqual(wrong, {})


if __name__ == "__main__":
    unittest.main()
