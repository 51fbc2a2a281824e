# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of kernels as tables. A row is of a family, or of a class of limits, and has the least and the most of its kernels."""

from . import limits, roof

OF_PTXAS = {"registers": "registers", "stack": "stack", "spills": "spills", "shared": "shared"}
# Figures of SASS: an element's, and of the kernel.
OF_SASS = {"load_bytes": "loads", "widest_load": "widest", "store_bytes": "stores", "instructions": "instructions", "f64": "f64",
           "div_i64": "div i64", "div_i32": "div i32", "div_f32": "div f32"}
HEADS = {**OF_PTXAS, **OF_SASS}


def has_sass(kernels):
    return bool(kernels) and all("instructions" in k for k in kernels)


def value(kernel, figure):
    of_kernel = figure in OF_PTXAS or figure == "widest_load"
    return kernel[figure] if of_kernel else kernel[figure] / kernel["elements"]


def show(number):
    """With at most one digit behind the point, and two significant ones below 1."""
    return f"{number:.2g}" if number < 1 else f"{number:.1f}".removesuffix(".0")


def span(numbers):
    least, most = show(min(numbers)), show(max(numbers))
    return least if least == most else f"{least}–{most}"


def families(kernels):
    """{(file, family): its kernels}, in order of their names"""
    found = {}
    for kernel in kernels:
        found.setdefault((kernel["file"], kernel["family"]), []).append(kernel)
    return dict(sorted(found.items()))


def of_f32(kernels):
    """Those for f32, which most programs use; all of them if there are none."""
    return [k for k in kernels if "f32" in k["name"] and not any(t in k["name"] for t in ("f16", "f64"))] or kernels


def share(gpu, kernels):
    """The estimate for the slowest of the kernels, in percent, and what decides."""
    estimates = [e for k in of_f32([k for k in kernels if k["architecture"] == gpu.architecture]) if (e := roof.estimate(gpu, k))]
    return f"{show(100 * min(estimates)[0])} {min(estimates)[1]}" if estimates else ""


def by_family(kernels, architecture):
    """The head, and a row for each family: its figures for an architecture, and its share of the bandwidth of each GPU."""
    figures = list(HEADS if has_sass(kernels) else OF_PTXAS)
    gpus = [g for g in roof.GPUS if has_sass(kernels) and any(k["architecture"] == g.architecture for k in kernels)]
    lines = [["file", "kernel", "instances", *(HEADS[f] for f in figures), *(g.name for g in gpus)]]
    for (file, family), members in families(kernels).items():
        shown = [k for k in members if k["architecture"] == architecture]
        if shown:
            lines.append([file, family, str(len(shown)), *(span([value(k, f) for k in shown]) for f in figures),
                          *(share(g, members) for g in gpus)])
    return lines


def by_class(kernels, classes, architectures):
    """The head, and a row for each class of limits and architecture."""
    figures = limits.OF_PTXAS + (limits.OF_SASS if has_sass(kernels) else [])
    lines = [["class", "architecture", "kernels", *(HEADS[f] for f in figures)]]
    for c in classes:
        for architecture in architectures:
            members = [limits.held_to(k) for k in kernels if k["architecture"] == architecture and limits.class_of(k, classes) is c]
            if members:
                columns = [[m[f] for m in members if f in m] for f in figures]
                lines.append([c["name"], f"sm_{architecture}", str(len(members)), *(span(n) if n else "" for n in columns)])
    return lines


def aligned(lines):
    """For a terminal: columns of one width, numbers at the right."""
    widths = [max(len(line[c]) for line in lines) for c in range(len(lines[0]))]
    return "\n".join("  ".join(f"{word:<{w}}" if c < 2 else f"{word:>{w}}" for c, (word, w) in enumerate(zip(line, widths))).rstrip()
                     for line in lines)


def markdown(lines):
    def row(words):
        return "| " + " | ".join(f"`{word}`" if "<" in word else word for word in words) + " |"
    return "\n".join([row(lines[0]), "|" + "---|" * len(lines[0]), *map(row, lines[1:])])
