# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the functions that PyTorch asks of a library of NVIDIA's and the stand-in has not got.

Each ends the process with its name. They are C++ source text, and the version script is the linker's.

usage: stubs.py TORCH_LIB_FOLDER PATTERN VERSION SOURCE_OUT SCRIPT_OUT OBJECT...
    PATTERN  regular expression of the library's names
    VERSION  of the library's symbols, such as libcudart.so.13; "-": none
"""

import pathlib
import re
import subprocess
import sys


def lines(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def undefined(folder, pattern):
    """The names that PyTorch's libraries leave to others."""
    names = set()
    for library in sorted(pathlib.Path(folder).glob("*.so*")):
        for line in lines("readelf", "-W", "--dyn-syms", library):
            fields = line.split()
            if len(fields) >= 8 and fields[6] == "UND":
                name = fields[7].split("@")[0]
                if re.match(pattern, name):
                    names.add(name)
    return names


def defined(objects):
    return {line.split()[-1] for line in lines("nm", "-g", "--defined-only", *objects) if len(line.split()) >= 3}


def write_if_changed(path, text):
    path = pathlib.Path(path)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main(arguments):
    folder, pattern, version, source, script, *objects = arguments
    absent = sorted(undefined(folder, pattern) - defined(objects))
    write_if_changed(source, "\n".join([
        'extern "C" {', "[[noreturn]] void stand_in_not_there(const char* call);",
        *(f'int {name}() {{ stand_in_not_there("{name}"); }}' for name in absent), "}", ""]))
    write_if_changed(script, ("" if version == "-" else version + " ") + "{ global: *; };\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
