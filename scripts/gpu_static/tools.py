# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Where the programs of CUDA's toolkit are."""

import os
import pathlib
import shutil

# Where scripts/setup --cuda-tools puts cuobjdump and nvdisasm, which small toolkits lack.
INSTALLED = pathlib.Path(os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local" / "share", "tandem", "cuda-tools")


def folders():
    """Folders of programs besides the PATH, in the order in which they are looked at."""
    return [pathlib.Path(os.environ.get("CUDA_PATH") or "/usr/local/cuda", "bin"), *sorted(INSTALLED.glob("nvidia/*/bin"))]


def find(name):
    """The program's path; None if it is nowhere."""
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(map(str, folders())))


def environment():
    """Ours, with the folders behind its PATH: cuobjdump calls nvdisasm."""
    return {**os.environ, "PATH": os.pathsep.join([os.environ.get("PATH", ""), *map(str, folders())])}
