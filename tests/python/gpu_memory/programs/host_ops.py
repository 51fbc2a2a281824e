# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Imported by a program for the stand-in's GPUs, whose ops the host computes."""

import os
import pathlib

import torch

torch.ops.load_library(str(pathlib.Path(os.environ["TANDEM_TORCH_STAND_IN"], "libhost_ops.so")))
