# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The versions of PyTorch that tandem knows. An adapter is for one minor version, such as 2.11."""

OLDEST, NEWEST = "2.8", "2.15"  # the oldest one as in cmake/TandemTorchVersion.cmake
KNOWN = f"PyTorch {OLDEST} to {NEWEST}"


class NoAdapter(ImportError):
    """There is no PyTorch, or the package has no adapter for it; says what to do."""


def minor_of(version: str) -> str:
    """'2.15' of '2.15.0+cu130'."""
    return ".".join(version.split(".")[:2])


def numbers(version: str) -> list[int]:
    """[2, 15] of '2.15', by which versions are ordered."""
    return [int(part) for part in version.split(".")]


def why_too_old(version: str, instead: str = NEWEST) -> str:
    """The sentence that refuses so old a PyTorch and names another one; empty: it is not too old."""
    if numbers(minor_of(version)) >= numbers(OLDEST):
        return ""
    return f"this is PyTorch {version}, which is older than those that tandem is for, {KNOWN}: pip install 'torch=={instead}.*'"
