# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The bundle: everything that a machine with only nvcc, cmake, ninja, g++ and Python needs.

    tandem-gpu-check/source      this commit
    tandem-gpu-check/googletest  Debian's sources of it
    tandem-gpu-check/prefix/usr  headers, shared libraries and CMake files, laid out as Debian does
    tandem-gpu-check/bundle.json the commit
"""

import io
import json
import os
import pathlib
import re
import subprocess
import tarfile

NAME = "tandem-gpu-check"
FILE = NAME + ".tar.xz"
MAX_NBYTES = 60 * 2**20
GOOGLETEST = pathlib.Path("/usr/src/googletest")

# Whose files go into the prefix. CUDA's toolkit has Thrust, and oneDNN is not built in.
PACKAGES = ["libopenblas-pthread-dev", "zlib1g-dev", "libfmt-dev", "nlohmann-json3-dev",
            "libcli11-dev", "librandom123-dev", "libxxhash-dev", "librapidcheck-dev", "libbenchmark-dev"]
WANTED = re.compile(r"^/usr/(include/|lib/.*(\.so|\.cmake)$|share/cmake/)")
# OpenBLAS stands in for libblas and liblapack on Debian; nobody here asks for those names.
NOT_WANTED = re.compile(r"/(libblas|liblapack|libxxhash)\.so$|/cmake/openblas/")
STATIC = re.compile(r"/lib(rapidcheck|benchmark)[a-z_]*\.a$")  # no shared library of them, or of a part
# What every machine with g++ has.
OF_THE_SYSTEM = re.compile(r"^(ld-linux|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libgomp)[-.]")


class BundleError(Exception):
    """The bundle cannot be made; the text says what to do."""


def output_of(*command, **options):
    try:
        return subprocess.run(command, capture_output=True, check=True, **options).stdout
    except FileNotFoundError as e:
        raise BundleError(f"there is no {command[0]}") from e
    except subprocess.CalledProcessError as e:
        raise BundleError(f"{' '.join(command)} failed: {e.stderr.decode().strip()}") from e


def below_usr(path):
    """The path's name in the prefix: /lib is a link to /usr/lib."""
    return path if path.is_relative_to("/usr") else pathlib.Path("/usr", *path.parts[1:])


def with_link_targets(path):
    """The path and, one after the other, the paths that it links to."""
    found = [below_usr(path)]
    while found[-1].is_symlink():
        target = os.path.normpath(found[-1].parent / os.readlink(found[-1]))
        found.append(below_usr(pathlib.Path(target)))
    return found


def package_files(package):
    listed = output_of("dpkg-query", "-L", package).decode().splitlines()
    paths = [pathlib.Path(p) for p in listed
             if (WANTED.search(p) or STATIC.search(p)) and not NOT_WANTED.search(p)]
    return [target for p in paths if p.is_symlink() or p.is_file() for target in with_link_targets(p)]


def needed_libraries(library, left_out=OF_THE_SYSTEM):
    """The libraries that ldd finds for a program or a shared library, without those that are on the other machine, and
    the library by the name that programs load."""
    found = re.findall(r"^\s*(\S+) => (/\S+)", output_of("ldd", str(library)).decode(), re.MULTILINE)
    own = re.findall(r"SONAME.*\[(\S+)\]", output_of("readelf", "-d", str(library)).decode())
    return ([pathlib.Path(path) for name, path in found if not left_out.match(name)] +
            [library.parent / name for name in own if (library.parent / name).exists()])


def prefix_files():
    files = {path for package in PACKAGES for path in package_files(package)}
    for library in [p for p in files if ".so" in p.name and not p.is_symlink()]:
        for path in needed_libraries(library):
            files.update(with_link_targets(path))
    return sorted(files)


def add_sources(bundle, root):
    archive = output_of("git", "-C", str(root), "archive", "--prefix", f"{NAME}/source/", "HEAD")
    with tarfile.open(fileobj=io.BytesIO(archive)) as sources:
        for member in sources:
            bundle.addfile(member, sources.extractfile(member) if member.isfile() else None)


def add_file(bundle, path):
    """Copies below the prefix; a link stays a link, to a file that is also copied."""
    member = bundle.gettarinfo(path, f"{NAME}/prefix{path}")
    if path.is_symlink():
        member.linkname = os.path.relpath(with_link_targets(path)[1], path.parent)
        bundle.addfile(member)
        return
    member.type = tarfile.REGTYPE  # also where it has a second name
    member.linkname, member.size = "", path.stat().st_size
    with path.open("rb") as file:
        bundle.addfile(member, file)


def add_text(bundle, name, text):
    member = tarfile.TarInfo(f"{NAME}/{name}")
    member.size = len(text)
    bundle.addfile(member, io.BytesIO(text))


def check_size(path, most):
    """The path, if the file has at most so many bytes."""
    nbytes = path.stat().st_size
    if nbytes > most:
        raise BundleError(f"{path} has {nbytes / 2**20:.1f} MiB, but at most {most / 2**20:.0f} are allowed")
    return path


def make(root, folder):
    """Writes the bundle of `root`'s HEAD into `folder` and returns its path."""
    if not GOOGLETEST.is_dir():
        raise BundleError(f"there is no {GOOGLETEST}; install googletest (scripts/setup does it)")
    commit = output_of("git", "-C", str(root), "rev-parse", "HEAD").decode().strip()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    with tarfile.open(path, "w:xz") as bundle:
        add_sources(bundle, root)
        add_text(bundle, "bundle.json", json.dumps({"commit": commit}).encode())
        bundle.add(GOOGLETEST, f"{NAME}/googletest")
        for file in prefix_files():
            add_file(bundle, file)
    return check_size(path, MAX_NBYTES)
