# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Names what nvcc compiles that changed lately.

usage: changed_kernels.py < CHANGED

Each line of CHANGED is a path from the root of the tree. Prints the files for nvcc that are among them or include one of
them, and what is among them of the code that calls CUDA's libraries or says how it is built.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CALLS_CUDA = ("src/runtime/cuda/", "src/comm/nccl/", "src/kernels/cuda/", "scripts/gpu_static/", "scripts/gpu-static", "cmake/")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def included(file: str) -> set[str]:
    """The file, and all of the project's that it includes."""
    found: set[str] = set()
    left = [file]
    while left:
        path = left.pop()
        if path in found:
            continue
        found.add(path)
        for name in INCLUDE.findall((ROOT / path).read_text()):
            places = (pathlib.Path(base, name) for base in ("src", "include", pathlib.Path(path).parent))
            left += [str(place) for place in places if (ROOT / place).is_file()][:1]
    return found


changed = set(sys.stdin.read().split())
kernels = (str(file.relative_to(ROOT)) for file in (ROOT / "src").rglob("*.cu"))
for file in sorted(kernels):
    if included(file) & changed:
        print(file)
for file in sorted(changed):
    if file.startswith(CALLS_CUDA) and not file.endswith(".cu"):
        print(file)
