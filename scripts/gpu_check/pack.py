# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The pack: what the short check runs on a machine that has a GPU, its driver, Python and CUDA's libraries.

    tandem-gpu-pack/scripts      gpu-check and its parts
    tandem-gpu-pack/bench/peers  the same steps in PyTorch
    tandem-gpu-pack/tree         programs, laid out as a build does
    tandem-gpu-pack/lib          libtandem, and the libraries that such a machine may lack
    tandem-gpu-pack/data         the digits
    tandem-gpu-pack/pack.json    the commit, and how it was built
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import time

from . import machine, requirements
from .brief.libraries import missing_of
from .bundle import BundleError, check_size, needed_libraries, output_of
from .parts import build
from .plan import Plan

NAME = "tandem-gpu-pack"
FILE = NAME + ".tar.xz"
MAX_NBYTES = 45 * 2**20
# Any x86 processor since 2015 that a GPU stands beside; the default is the processor that builds.
MARCH = "x86-64-v3"
# What users see of DataParallel, and that its modes agree: the rooms of parallel that fail first.
FOLDERS = ["ops", "comm", "parallel_wrapper", "parallel_exactness"]
# What the machine has: its system's, the driver's, and CUDA's own libraries, which PyTorch brings too.
ON_THE_MACHINE = re.compile(r"^(ld-linux|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s)[-.]|"
                            r"^lib(cuda|cudart|cublas|cudnn|nccl|nvrtc|nvidia)")

# From the program in the tree, and from those of tests and bench.
WHERE_LIBRARIES_ARE = [f"$ORIGIN/{up}{folder}" for up in ("", "../../") for folder in ("", "tests/stand_in")]


def plan_of(root, arch, stand_in):
    folder = root / "build" / ("gpu-pack-stand-in" if stand_in else "gpu-pack")
    return Plan(root, folder, [f"{arch}-real"], requirements.generator(), requirements.compiler(), stand_in,
                rounds=1, quick=True, gpus=[])


def programs(plan):
    return [plan.program, *map(plan.test_program, FOLDERS), plan.tree / "bench" / "step" / "step_bench",
            plan.tree / "bench" / "ops" / "ops_bench"]


def run(step):
    """Runs a step of the build; what it prints is shown."""
    command = [str(word) for word in step.command]
    try:
        subprocess.run(command, check=True, env={**os.environ, **step.environment})
    except (OSError, subprocess.CalledProcessError) as e:
        raise BundleError(f"the build failed: {e}") from e


def compile_all(plan):
    """A program finds libtandem in the tree; on the other machine brief names the folder. NCCL is left out, for one GPU
    has no use of it, and a machine without it could not load the library."""
    arguments = [f"-DTANDEM_MARCH={MARCH}", "-DBUILD_SHARED_LIBS=ON", "-DTANDEM_BUILD_TESTS=ON", "-DTANDEM_INSTALL=OFF",
                 "-DTANDEM_NCCL=OFF", "-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON", f"-DCMAKE_INSTALL_RPATH={';'.join(WHERE_LIBRARIES_ARE)}",
                 "-DCMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE=PRE_TEST"]
    run(build.configure(plan, build.compilers(plan), arguments))
    run(build.compile_targets(plan, "compile", FOLDERS))


def describe(plan, arch):
    return {"commit": machine.commit(plan.root), "made": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
            "stand_in": plan.stand_in, "built for": "the tests' stand-in" if plan.stand_in else f"sm_{arch}",
            "processor": MARCH, "toolkit": requirements.text_of(machine.nvcc_version()),
            **{library: build.version_of(library, plan.tree) for library in build.LIBRARIES}}


def strip(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    output_of("strip", "-o", str(target), str(source))


def libraries_of(program):
    """{name: path} of the libraries that the program needs and the other machine may lack."""
    lost = [name for name in missing_of(program) if not ON_THE_MACHINE.match(name)]
    if lost:
        raise BundleError(f"{program} needs {', '.join(lost)}, which ldd does not find")
    return {path.name: path for path in needed_libraries(program, ON_THE_MACHINE)}


def gather(plan, arch, folder):
    """Puts all that the pack has into `folder`."""
    for script in ("scripts/gpu_check", "bench/peers"):
        shutil.copytree(plan.root / script, folder / script, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(plan.root / "scripts" / "gpu-check", folder / "scripts")
    shutil.copytree(plan.root / "examples" / "data" / "digits", folder / "data" / "digits")
    libraries = {}
    for program in programs(plan):
        strip(program, folder / "tree" / program.relative_to(plan.tree))
        libraries.update(libraries_of(program))
    for name, path in libraries.items():
        strip(path.resolve(), folder / "lib" / name)
    (folder / "pack.json").write_text(json.dumps(describe(plan, arch), indent=1) + "\n")


def make(root, folder, arch, stand_in):
    """Builds, writes the pack into `folder` and returns its path."""
    missing = requirements.missing_tools(root)
    if missing:
        raise BundleError("this is missing: " + "; ".join(missing))
    plan = plan_of(root, arch, stand_in)
    compile_all(plan)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    with tempfile.TemporaryDirectory(prefix="tandem-gpu-pack-") as staged:
        gather(plan, arch, pathlib.Path(staged))
        with tarfile.open(path, "w:xz", preset=9) as pack:
            pack.add(staged, NAME)
    return check_size(path, MAX_NBYTES)
