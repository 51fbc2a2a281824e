#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Writes sample.safetensors with the reference implementation (PyPI: safetensors, numpy) beside this script."""
import pathlib

import numpy as np
from safetensors.numpy import save_file

tensors = {
    "layer.weight": np.arange(6, dtype=np.float32).reshape(2, 3) / 4,
    "layer.bias": np.array([-1.5, 1e30], dtype=np.float32),
    "wide": np.array([[[np.pi]]], dtype=np.float64),
    "index": np.array([-(2**62), 7], dtype=np.int64),
    "count": np.array([-3, 2**31 - 1, 5], dtype=np.int32),
    "pixels": np.array([0, 127, 255], dtype=np.uint8),
    "mask": np.array([True, False, True]),
    "scalar": np.array(2.5, dtype=np.float32),
    "empty": np.zeros((0, 4), dtype=np.float32),
    "naïve \"name\"\n": np.array([1], dtype=np.uint8),
}
save_file(tensors, pathlib.Path(__file__).with_name("sample.safetensors"), metadata={"note": "grüße \\ \t"})
