# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The tables as a document in Markdown."""

import re
import subprocess

from . import roof, table, tools

def said_by(*command):
    """What a command says; nothing if it cannot be run."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def origin(root):
    """Of what, and with what, the figures are."""
    commit = said_by("git", "-C", str(root), "rev-parse", "--short", "HEAD") or "unknown"
    version = re.search(r"V(\d[\d.]*)", said_by(tools.find("nvcc"), "--version"))
    return f"Commit {commit}, nvcc {version.group(1) if version else 'unknown'}."


def gpus():
    head = ["GPU", "code", "GB/s", "SMs", "GHz", "warps an SM", "f64 an SM and clock"]
    return [head] + [[g.name, f"sm_{g.architecture}", f"{g.bandwidth / 1e9:.0f}", str(g.sms), f"{g.clock / 1e9:.2f}", str(g.warps),
                      str(g.f64)] for g in roof.GPUS]


def tables(kernels, classes, architectures, root):
    """All tables as a document; those of families are of the first architecture. docs/gpu.md says what they mean."""
    parts = ["# What GPU kernels need, in figures", origin(root), "## GPUs of the estimates", table.markdown(gpus()),
             "## By class of limits", table.markdown(table.by_class(kernels, classes, sorted(architectures))),
             f"## By family, for sm_{architectures[0]}", table.markdown(table.by_family(kernels, architectures[0]))]
    return "\n\n".join(parts)
