# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""python -m tandem adapter: builds the adapter for the PyTorch that is there, against the library of this package."""

from __future__ import annotations

import argparse
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from tandem._torch_versions import KNOWN, NEWEST, minor_of, numbers, why_too_old

PACKAGE = pathlib.Path(__file__).parent
SOURCES = PACKAGE / "adapters" / "sources"
MINUTES = 30  # more than any machine needs, so that nobody waits for ever


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="tandem adapter",
        description="Builds tandem's part for the PyTorch that is installed, where the package has none for it.",
    )
    parser.add_argument("--package", type=pathlib.Path, default=PACKAGE, help="the package that gets it (default: this one)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="compilers at a time (default: a processor each)")
    parser.add_argument("--build", type=pathlib.Path, help="a folder for what is compiled, which stays (default: one that goes)")
    options = parser.parse_args(arguments)
    try:
        place = _build(options.package, options.jobs, options.build)
    except RuntimeError as error:
        sys.exit(f"tandem adapter: {error}")
    print(f"tandem adapter: built {place}")


def _build(package: pathlib.Path, jobs: int, folder: pathlib.Path | None) -> pathlib.Path:
    from tandem import _core

    torch = _folder_of_torch()
    version = _version_of(torch)
    _check_tools()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tandem-adapter-") as scratch:
        build = folder or pathlib.Path(scratch)
        try:
            _run(
                "cmake", "-S", SOURCES / "src" / "python" / "torch", "-B", build, *_generator(build),
                f"-DTANDEM_VERSION={_core.version}", f"-DTANDEM_TORCH_DIR={torch}", f"-DTANDEM_PACKAGE={PACKAGE.resolve()}",
                f"-DPython_EXECUTABLE={sys.executable}", *_nanobind(),
            )  # fmt: skip
            _run("cmake", "--build", build, "--target", "_torch", "--parallel", jobs)
        except RuntimeError as error:
            if numbers(minor_of(version)) <= numbers(NEWEST):
                raise
            raise RuntimeError(f"this is PyTorch {version}, which is newer than those that this tandem knows, {KNOWN}; take one of those "
                               f"(pip install 'torch=={NEWEST}.*'), or a newer tandem\n{error}") from None
        (made,) = (build / "python" / "tandem").glob("adapters/*/*/_torch.*so")
        place = package / made.relative_to(build / "python" / "tandem")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(made, place.with_suffix(".part"))
            place.with_suffix(".part").replace(place)  # a process that has loaded the one before keeps it
        except OSError as error:
            raise RuntimeError(f"it was compiled, but cannot be put into the package: {error}; run this as the package's owner") from error
    print(f"tandem adapter: compiled in {time.monotonic() - began:.0f} s")
    return place


def _folder_of_torch() -> pathlib.Path:
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        raise RuntimeError("there is no PyTorch for which an adapter could be built: pip install torch")
    return pathlib.Path(found.origin).parent


def _version_of(torch: pathlib.Path) -> str:
    """Of the PyTorch in that folder, which need not be one that can be imported."""
    file = torch / "version.py"
    found = re.search(r"^__version__ = '(\d+\.\d+[^']*)'", file.read_text(encoding="utf-8") if file.exists() else "", re.MULTILINE)
    if found is None:
        raise RuntimeError(f"{file} does not tell which PyTorch this is; install it again: pip install 'torch=={NEWEST}.*'")
    if refusal := why_too_old(found[1]):
        raise RuntimeError(refusal)
    return found[1]


def _check_tools() -> None:
    if not SOURCES.exists():
        raise RuntimeError(f"{SOURCES} is missing, which has the adapter's sources; install the package again")
    if shutil.which(os.environ.get("CXX", "c++")) is None:
        raise RuntimeError("there is no C++ compiler (c++, or $CXX); install g++ 12 or later, on Debian: apt-get install g++")
    if shutil.which("cmake") is None:
        raise RuntimeError("there is no cmake: pip install cmake ninja")


def _generator(build: pathlib.Path) -> list[str]:
    has_been_chosen = (build / "CMakeCache.txt").exists()
    return ["-G", "Ninja"] if shutil.which("ninja") and not has_been_chosen else []


def _nanobind() -> list[str]:
    found = importlib.util.find_spec("nanobind")
    return [f"-Dnanobind_ROOT={pathlib.Path(found.origin).parent / 'cmake'}"] if found and found.origin else []


def _run(*command: object) -> None:
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60 * MINUTES)
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"{' '.join(words)} takes more than {MINUTES} minutes; try --jobs 1 if memory is short") from error
    if done.returncode != 0:
        said = (done.stdout + done.stderr)[-4000:]
        hint = ": pip install nanobind==3.1.0" if 'provided by "nanobind"' in said else ""
        raise RuntimeError(f"{' '.join(words)} failed{hint}\n{said}")
