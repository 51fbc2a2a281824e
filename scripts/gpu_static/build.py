# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles every .cu as CMake's preset cuda does, with device code that is optimised as in a release.

The build keeps what ptxas says (keep_ptxas). Code for the host is not optimised: nobody runs it.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from . import tools

KEEP = pathlib.Path(__file__).resolve().parent / "keep_ptxas"


class BuildError(Exception):
    """Nothing was compiled, or not all; the text says what to do."""


class ArchitectureError(Exception):
    """nvcc does not compile for an architecture; the text says for which it does."""


@contextlib.contextmanager
def alone_in(folder):
    """Keeps other calls out of a build's folder: they may compile for other architectures there."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "gpu-static.lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as e:
            raise BuildError(f"another gpu-static works in {folder}; wait until it has ended, or give another folder by --build") from e
        yield


def check_architectures(architectures):
    said = subprocess.run([tools.find("nvcc"), "--list-gpu-arch"], capture_output=True, text=True, check=False).stdout
    known = sorted(map(int, re.findall(r"compute_(\d+)", said)))
    for a in architectures if known else []:
        if a not in known:
            raise ArchitectureError(f"--arch: this nvcc does not compile for {a}; it does for {', '.join(map(str, known))}")


def settings(architectures):
    """CMake's settings. Debug alone leaves host code as it is; kernels see the macros of a release."""
    launcher = ";".join(filter(None, [str(KEEP), shutil.which("ccache")]))
    return {
        "CMAKE_BUILD_TYPE": "Debug", "CMAKE_CXX_FLAGS_DEBUG": "-O0", "CMAKE_CUDA_FLAGS_DEBUG": "-O0 -DNDEBUG",
        "CMAKE_CUDA_ARCHITECTURES": ";".join(f"{a}-real" for a in architectures),
        "CMAKE_CUDA_FLAGS": "-Xptxas=-v", "CMAKE_CUDA_COMPILER_LAUNCHER": launcher,
        "TANDEM_BUILD_TESTS": "OFF", "TANDEM_BUILD_EXAMPLES": "OFF", "TANDEM_BUILD_BENCH": "OFF",
    }


def call(*command, **extra):
    """Runs a part of the build, which says on stderr how far it is."""
    try:
        done = subprocess.run(command, stdout=sys.stderr, check=False, env={**os.environ, **extra})
    except FileNotFoundError as e:
        raise BuildError(f"there is no {command[0]}; scripts/setup installs it") from e
    if done.returncode:
        raise BuildError(f"{command[0]} {command[1]} has failed; its messages are above")


def configure(root, folder, architectures):
    call("cmake", "--preset", "cuda", "-S", str(root), "-B", str(folder), "--log-level=WARNING",
         *(f"-D{key}={value}" for key, value in settings(architectures).items()), CUDACXX=tools.find("nvcc"))


def objects(folder):
    """{name of the .cu without its suffix: object file}, as the build in the folder has them."""
    commands = json.loads((folder / "compile_commands.json").read_text())
    words = {pathlib.Path(c["file"]).stem: shlex.split(c["command"]) for c in commands if c["file"].endswith(".cu")}
    return {name: folder / command[command.index("-o") + 1] for name, command in words.items()}


def compile_kernels(root, folder, architectures, jobs, wanted):
    """The objects of the .cu files whose names `wanted` accepts, compiled if they are not."""
    configure(root, folder, architectures)
    found = {name: path for name, path in objects(folder).items() if wanted(name)}
    if not found:
        return found
    # An object whose notes are lost is compiled again.
    for path in found.values():
        if path.exists() and not notes(path).exists():
            path.unlink()
    targets = [str(path.relative_to(folder)) for path in found.values()]
    call("cmake", "--build", str(folder), "--parallel", str(jobs), "--target", *targets)
    return found


def notes(path):
    """The file that keep_ptxas writes beside an object."""
    return path.with_name(path.name + ".ptxas")
