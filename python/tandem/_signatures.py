# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Signatures of what the extension module has, as the module inspect knows those of Python: its own types have none."""

import functools
import inspect
import re
from typing import Any


def with_signature(member: Any) -> Any:
    """A function of the extension module as one of Python, or its class, which gets the signature of its constructor."""
    if not isinstance(member, type):
        return _function(member)
    constructor = vars(member).get("__init__")
    if hasattr(constructor, "__nb_signature__"):  # others are made by functions alone
        _, *others = _signature(constructor).parameters.values()
        setattr(member, "__signature__", inspect.Signature(others))
    return member


def _function(member: Any) -> Any:
    @functools.wraps(member)
    def call(*arguments: Any, **options: Any) -> Any:
        return member(*arguments, **options)

    setattr(call, "__signature__", _signature(member))
    call.__doc__ = member.__nb_signature__[0][1]
    return call


def _signature(member: Any) -> inspect.Signature:
    """From nanobind's text, which has the number of a default value in its place."""
    text, _, defaults = member.__nb_signature__[0]
    names = {f"default_{i}": value for i, value in enumerate(defaults or ())}
    exec("from __future__ import annotations\n" + re.sub(r"\\(\d+)", r"default_\1", text) + ": ...", names)
    return inspect.signature(names[member.__name__])
