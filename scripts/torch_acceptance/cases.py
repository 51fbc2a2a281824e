# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The names of the cases in a test file: of GoogleTest, or of Python's unittest."""

import ast
import re

GTEST = re.compile(r"^(?:TEST|TEST_[FP]|RC_GTEST_PROP)\(\s*(\w+),\s*(\w+)", re.MULTILINE)


def of_cpp(text):
    return [f"{suite}.{case}" for suite, case in GTEST.findall(text)]


def dtypes(function):
    """The types of a function's @dtypes(torch.float, ...): PyTorch makes a case of each. [""] if it has none."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", None) == "dtypes":
            return [f"_{argument.attr}" for argument in decorator.args]
    return [""]


def of_python(text):
    classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    return [f"{c.name}.{f.name}{dtype}" for c in classes for f in c.body
            if isinstance(f, ast.FunctionDef) and f.name.startswith("test") for dtype in dtypes(f)]


def of_file(path):
    text = path.read_text(encoding="utf-8")
    return of_python(text) if path.suffix == ".py" else of_cpp(text)
