# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""All that is known of each kernel: a dict of figures, from ptxas and from SASS."""

import concurrent.futures
import subprocess

from . import build, names, ptxas, sass, tools


class ReadError(Exception):
    """An object cannot be read; the text says why."""


def sass_of(path):
    """What cuobjdump prints of an object; None if there is no cuobjdump or no nvdisasm, which it calls."""
    cuobjdump = tools.find("cuobjdump")
    if not cuobjdump or not tools.find("nvdisasm"):
        return None
    done = subprocess.run([cuobjdump, "-sass", path], capture_output=True, text=True, check=False, env=tools.environment())
    if done.returncode:
        raise ReadError(f"{cuobjdump} -sass {path}: {done.stderr.strip() or 'it failed'}")
    return done.stdout


def join(file, said, assembly):
    """The kernels of a file: `said` is ptxas's text, `assembly` that of cuobjdump or None."""
    figures = ptxas.read(said)
    counted = sass.read(assembly) if assembly is not None else {}
    found = []
    for (architecture, mangled), demangled in zip(figures, names.demangle([mangled for _, mangled in figures])):
        if demangled.startswith("void cub::") and "::EmptyKernel<" in demangled:
            continue  # CUB asks it for the architecture; nobody launches it
        name, family = names.readable(demangled)
        found.append({"id": f"{file}: {name}", "file": file, "name": name, "family": family, "architecture": architecture,
                      **figures[architecture, mangled], **counted.get((architecture, mangled), {}), "mangled": mangled})
    return found


def of_object(file, path):
    """The kernels of one object of a build."""
    notes = build.notes(path)
    try:
        said = notes.read_text()
    except OSError as e:
        raise ReadError(f"{notes}: {e.strerror}; remove {path.name} and try again") from e
    return join(file, said, sass_of(path))


def read(objects, jobs):
    """The kernels of all objects, by file, name and architecture."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        lists = list(pool.map(of_object, objects.keys(), objects.values()))
    return sorted((k for found in lists for k in found), key=lambda k: (k["id"], k["architecture"], k["mangled"]))
