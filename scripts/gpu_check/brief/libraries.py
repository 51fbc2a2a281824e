# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Says which libraries of the pack's programs this machine lacks: libraries.py PROGRAM...

Prints {"missing": [...]}, and ends with status 1 if something is. It runs with the environment of the programs.
"""

import json
import pathlib
import re
import subprocess
import sys

NEEDED_OF_THE_PROCESSOR = {"avx2", "fma", "bmi2"}  # of x86-64-v3
REMEDIES = [(r"libcuda\.so", "install the GPU's driver, or give the container its GPU (docker run --gpus all)"),
            (r"lib(cudart|cublas|cudnn|nvrtc|nvJitLink)", "PyTorch for the same version of CUDA brings it (pip install torch); "
             "or name its folder in LD_LIBRARY_PATH"),
            (r"^(GLIBC|GLIBCXX|CXXABI)_", "the pack is for a later system: make it on one as old as this"),
            ("", "put it into the pack's folder lib")]


def missing_of(program):
    """The names that ldd does not find for the program; versions of the C and C++ libraries too."""
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True)
    text = done.stdout + done.stderr
    return re.findall(r"^\s*(\S+) => not found", text, re.MULTILINE) + re.findall(r"version `(\S+)' not found", text)


def missing_of_processor(cpuinfo=pathlib.Path("/proc/cpuinfo")):
    found = re.search(r"^flags\s*:(.*)", cpuinfo.read_text(), re.MULTILINE)
    lacks = NEEDED_OF_THE_PROCESSOR - set(found.group(1).split()) if found else set()
    return [f"a processor with {', '.join(sorted(lacks))}: the pack is compiled for x86-64-v3"] if lacks else []


def with_remedy(name, programs):
    remedy = next(text for pattern, text in REMEDIES if re.search(pattern, name))
    return f"{name}, of {', '.join(programs)}: {remedy}"


def main(programs):
    users = {}
    for program in programs:
        for name in missing_of(program):
            of_name = users.setdefault(name, [])
            if pathlib.Path(program).name not in of_name:
                of_name.append(pathlib.Path(program).name)
    missing = [with_remedy(*item) for item in sorted(users.items())] + missing_of_processor()
    print(json.dumps({"missing": missing}))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
