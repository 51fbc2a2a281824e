# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's test library imports expecttest, which none of its cases here uses."""

import importlib.util
import sys
import types
import unittest


def provide():
    if importlib.util.find_spec("expecttest") is None:
        absent = types.ModuleType("expecttest")
        absent.TestCase = unittest.TestCase
        sys.modules["expecttest"] = absent
