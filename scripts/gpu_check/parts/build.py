# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Part build: GoogleTest, the library, the program, tests and benchmarks."""

import pathlib
import re

from .. import machine
from ..plan import jobs
from ..steps import Step
from .tests import QUICK_PROGRAMS, programs

# The libraries of GPUs that are used where CMake finds them: header with the version, and its macros.
LIBRARIES = {"cuDNN": ("CUDNN", "cudnn_version.h", ["CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL"]),
             "NCCL": ("NCCL", "nccl.h", ["NCCL_MAJOR", "NCCL_MINOR", "NCCL_PATCH"])}


def prefix_arguments(prefix):
    """How CMake finds the bundle's libraries; a library finds those that it needs by the RPATH."""
    libraries = next((prefix / "lib").glob("*-linux-gnu*"))
    openblas = libraries / "openblas-pthread"
    return [f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_LIBRARY_ARCHITECTURE={libraries.name}",
            f"-DOpenBLASPthread_LIBRARY={openblas}/libopenblas.so",
            f"-DOpenBLASPthread_INCLUDE_DIR={prefix}/include/{libraries.name}/openblas-pthread",
            f"-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags,-rpath,{libraries}:{openblas}"]


def version_of(library, tree):
    """The version that the build uses; else why it uses none, which does not begin with a digit."""
    name, header, macros = LIBRARIES[library]
    cache = (tree / "CMakeCache.txt").read_text()
    folder = re.search(rf"^{name}_INCLUDE_DIR:\w+=(/.*)$", cache, re.MULTILINE)
    if not folder:
        return "not found"
    text = (pathlib.Path(folder.group(1)) / header).read_text()
    numbers = [re.search(rf"^#define {macro} +(\d+)", text, re.MULTILINE) for macro in macros]
    version = ".".join(number.group(1) for number in numbers if number)
    used = re.search(rf"has_{name.lower()} = true", (tree / "include" / "tandem" / "config.hpp").read_text())
    return version if used else f"the headers of {version} are found, but the build does not use it"


def library_versions(tree):
    return lambda log: {library: version_of(library, tree) for library in LIBRARIES}


def googletest(plan, environment):
    folder = plan.out / "googletest"
    return Step("googletest", "build", [
        "sh", "-c", 'cmake -S "$0" -B "$1" -G "$2" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$1/prefix" && '
        'cmake --build "$1" --parallel "$3" --target install',
        plan.root.parent / "googletest", folder, plan.generator, str(jobs())], environment, essential=True, resumes=True)


def configure(plan, environment, arguments):
    backend = (["-DTANDEM_CUDA_STAND_IN=ON"] if plan.stand_in else
               [f"-DCMAKE_CUDA_ARCHITECTURES={';'.join(plan.architectures)}"])
    return Step("configure", "build", [
        "cmake", "-S", plan.root, "-B", plan.tree, "-G", plan.generator, "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_UNITY_BUILD=ON", "-DTANDEM_CUDA=ON", *backend, "-DTANDEM_ONEDNN=OFF", "-DTANDEM_WERROR=OFF",
        "-DTANDEM_BUILD_BENCH=ON", "-DTANDEM_BUILD_EXAMPLES=OFF", *arguments], environment, read=library_versions(plan.tree), essential=True)


def compile_targets(plan, name, folders):
    targets = ["tandem_cli", *(f"{folder}_test" for folder in folders), "step_bench", "ops_bench"]
    return Step(name, "build", ["cmake", "--build", plan.tree, "--parallel", str(jobs()), "--target", *targets],
                timeout=3600, essential=True, resumes=True)


def compilers(plan):
    """The environment in which CMake takes the plan's compiler, and the toolkit's."""
    toolkit = machine.toolkit()
    return {"CXX": plan.compiler, "CUDAHOSTCXX": plan.compiler, **({"CUDACXX": f"{toolkit}/bin/nvcc"} if toolkit else {})}


def steps(plan):
    source, environment = plan.root.parent, compilers(plan)
    todo, arguments = [], []
    if (source / "bundle.json").exists():
        todo.append(googletest(plan, environment))
        arguments = [*prefix_arguments(source / "prefix" / "usr"), f"-DGTest_ROOT={plan.out}/googletest/prefix"]
    todo.append(configure(plan, environment, arguments))
    todo.append(compile_targets(plan, "compile/quick", QUICK_PROGRAMS))
    return todo if plan.quick else [*todo, compile_targets(plan, "compile", programs(plan))]
