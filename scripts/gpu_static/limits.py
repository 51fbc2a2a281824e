# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The limits of limits.toml: which class a kernel is of, and what exceeds the class's maxima."""

import fnmatch
import tomllib

OF_PTXAS = ["registers", "stack", "spills", "shared"]
OF_SASS = ["f64", "div_i64", "div_i32"]  # an element


class LimitsError(Exception):
    """The file of limits cannot be used; the text says why."""


def check_class(path, c):
    name = c.get("name")
    if not isinstance(name, str) or not isinstance(c.get("kernels"), list):
        raise LimitsError(f"{path}: {name or 'a class'}: a class needs name = \"...\" and kernels = [\"pattern\", ...]")
    for key, value in c.items():
        known = key in OF_PTXAS + OF_SASS and isinstance(value, (int, float))
        if key not in ("name", "kernels") and not known:
            raise LimitsError(f"{path}: {name}: {key} = {value!r}; expected a number for one of {', '.join(OF_PTXAS + OF_SASS)}")


def read(path):
    """The classes, in order: {"name", "kernels", and the maximum of each figure that has one}."""
    try:
        classes = tomllib.loads(path.read_text()).get("class", [])
    except OSError as e:
        raise LimitsError(f"{path}: cannot be read ({e.strerror})") from e
    except tomllib.TOMLDecodeError as e:
        raise LimitsError(f"{path}: {e}") from e
    for c in classes:
        check_class(path, c)
    return classes


def class_of(kernel, classes):
    """The first class that has a pattern for the kernel; None if there is none."""
    return next((c for c in classes if any(fnmatch.fnmatchcase(kernel["id"], p) for p in c["kernels"])), None)


def held_to(kernel):
    """{figure: value} of what may have a limit. Arithmetic in f64 is what a kernel for f64 is there for."""
    figures = {f: kernel[f] for f in OF_PTXAS}
    if "instructions" in kernel:
        figures |= {f: kernel[f] / kernel["elements"] for f in OF_SASS if not (f == "f64" and "f64" in kernel["name"])}
    return figures


def exceeded(kernels, classes):
    """[{"kernel", "architecture", "class", "figure", "value", "maximum"}] of all that is above its maximum."""
    return [{"kernel": kernel["id"], "architecture": kernel["architecture"], "class": c["name"], "figure": figure, "value": value,
             "maximum": c[figure]}
            for kernel in kernels if (c := class_of(kernel, classes))
            for figure, value in held_to(kernel).items() if value > c.get(figure, value)]


def without_class(kernels, classes):
    """The names of kernels that no pattern is for."""
    return sorted({k["id"] for k in kernels if class_of(k, classes) is None})


def without_kernel(kernels, classes):
    """The names of classes that no kernel is of."""
    used = {c["name"] for k in kernels if (c := class_of(k, classes))}
    return [c["name"] for c in classes if c["name"] not in used]
