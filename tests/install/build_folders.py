# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Finds folders of the machine that built a package in the package's binaries: they tell of it, and may be anybody's elsewhere."""

import os
import re
import subprocess

# Absolute names of sources and headers, but those of this system's packages.
_SOURCE = re.compile(rb"(?<![\w.+/-])/(?!usr/)[\w.+/-]+\.(?:cpp|cc|cxx|hpp|h|inl|cu|cuh)\b")
_ELF, _ARCHIVE = b"\x7fELF", b"!<arch>\n"


def found_in(package, folders):
    """A line for each binary below the folder `package` and each of `folders`, source or RPATH that it names."""
    lines = []
    for path in sorted(package.rglob("*")):
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        if not data.startswith((_ELF, _ARCHIVE)):
            continue
        named = {os.fsdecode(name) for name in _SOURCE.findall(data)} | {str(folder) for folder in folders if os.fsencode(folder) in data}
        if data.startswith(_ELF):
            named |= {f"RPATH {place}" for place in _run_paths(path) if not place.startswith(("$ORIGIN", "/usr/"))}
        lines += [f"{path.relative_to(package)}: {name}" for name in sorted(named)]
    return lines


def _run_paths(binary):
    listing = subprocess.run(["readelf", "-d", binary], capture_output=True, text=True, check=True).stdout
    return [place for places in re.findall(r"R(?:UN)?PATH\).*\[(.*)\]", listing) for place in places.split(":")]
