# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What the check needs of a machine: all that is missing is said at once, with the versions that were found."""

import os
import platform
import shutil
import sys

from . import machine

PYTHON, CMAKE, GCC, NVCC, GLIBC = (3, 9), (3, 25), (12,), (12, 8), (2, 34)
# What is tried, in this order. Systems whose g++ is too old often have a newer one beside it.
COMPILERS = ["g++", "g++-14", "g++-13", "g++-12"]
# The oldest driver for each major version of CUDA, as NVIDIA's release notes have it.
DRIVERS = {12: "525", 13: "580"}
REMEDY_OF_NO_GPU = "in a container, give it the GPUs (docker run --gpus all)"


def text_of(version):
    return ".".join(map(str, version))


def found(version):
    return f"found {text_of(version)}" if version else "not found"


def compiler():
    """The first compiler that is new enough, else the one that would be taken."""
    named = os.environ.get("CXX")
    names = [named] if named else [name for name in COMPILERS if shutil.which(name)]
    return next((name for name in names if compiler_version(name) >= GCC), (names or COMPILERS)[0])


def compiler_version(name):
    return machine.version_in(machine.first_line(name, "-dumpfullversion"), r"^(\d+(?:\.\d+)*)")


def generator():
    """CMake's generator: Ninja if it is there."""
    return "Ninja" if shutil.which("ninja") or not shutil.which("make") else "Unix Makefiles"


def missing_tools(root):
    missing = []
    if sys.version_info < PYTHON:
        missing.append(f"Python {text_of(PYTHON)} or later (found {platform.python_version()})")
    cmake = machine.version_in(machine.first_line("cmake", "--version"))
    if cmake < CMAKE:
        missing.append(f"cmake {text_of(CMAKE)} or later ({found(cmake)})")
    if not shutil.which("ninja") and not shutil.which("make"):
        missing.append("ninja or make (not found)")
    gcc = compiler_version(compiler())
    if gcc < GCC:
        missing.append(f"g++ {text_of(GCC)} or later ({found(gcc)})")
    nvcc = machine.nvcc_version()
    if nvcc < NVCC:
        missing.append(f"nvcc {text_of(NVCC)} or later ({found(nvcc)}; it is looked for in PATH, $CUDA_PATH and /usr/local/cuda)")
    glibc = machine.version_in(platform.libc_ver()[1])
    if (root.parent / "bundle.json").exists() and glibc < GLIBC:
        missing.append(f"glibc {text_of(GLIBC)} or later, for the libraries of the bundle ({found(glibc)})")
    return missing


def missing_driver(driver):
    """Why no program would see a GPU; [] if one would."""
    nvcc, cuda = machine.nvcc_version(), machine.version_in(driver.get("cuda", ""))
    missing = []
    if nvcc and cuda and cuda[0] < nvcc[0]:
        needed = f"driver {DRIVERS[nvcc[0]]} or later" if nvcc[0] in DRIVERS else f"a driver for CUDA {nvcc[0]}"
        other = f", or a toolkit {cuda[0]}.x, at least {text_of(NVCC)}" if cuda[0] == NVCC[0] else ""
        missing.append(f"a newer driver of the GPU: it is for CUDA {text_of(cuda)}, and nvcc is of CUDA {text_of(nvcc)}; "
                       f"install {needed}{other}")
    missing += [f"a GPU with memory pools: {gpu['name']} has none, as under some virtual machines"
                for gpu in driver["gpus"] if not gpu["pools"]]
    if not driver["gpus"]:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        reason = driver["error"] or "the driver counts none"
        hint = f"CUDA_VISIBLE_DEVICES is '{visible}'; unset it" if visible is not None else REMEDY_OF_NO_GPU
        missing.append(f"a GPU: {reason}; {hint}")
    return missing


def best_code(capability, codes):
    """The architecture to build for: this GPU's own, else the closest older one; None if there is none.

    Code of an architecture runs on later ones of the same major number. CMake also includes intermediate code of it, which
    the driver compiles for any later GPU.
    """
    wanted = tuple(map(int, capability.split(".")))
    return max((code for code in codes if code <= wanted), default=None)


def architectures(gpus):
    """What nvcc is to build for, without repeats, and the GPUs that it cannot build for."""
    codes = []
    for word in machine.nvcc_says("--list-gpu-code").split():
        number = word.removeprefix("sm_")
        if number.isdigit():
            codes.append((int(number[:-1]), int(number[-1])))
    best = {gpu["compute_capability"]: best_code(gpu["compute_capability"], codes) if codes else
            tuple(map(int, gpu["compute_capability"].split("."))) for gpu in gpus}
    refused = [f"a toolkit that knows {gpu['name']} (compute capability {gpu['compute_capability']}): nvcc "
               f"{text_of(machine.nvcc_version())} does not build for it, or hide it by CUDA_VISIBLE_DEVICES"
               for gpu in gpus if best[gpu["compute_capability"]] is None]
    return [f"{major}{minor}" for major, minor in sorted({b for b in best.values() if b})], refused


def notes(stand_in):
    """What is not needed, but makes the check smaller where it is missing."""
    said = []
    if generator() != "Ninja":
        said.append("ninja is not found, so make builds")
    if not machine.tool("compute-sanitizer") and not stand_in:
        said.append("compute-sanitizer is not found, so the part sanitizer is not run")
    if not machine.nvidia_smi() and not stand_in:
        said.append("nvidia-smi is not found or fails, so the driver's version, clocks and topology are not recorded")
    return said
