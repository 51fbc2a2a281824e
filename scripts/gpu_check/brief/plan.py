# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What every stage needs to know: the pack, and where this machine has CUDA's libraries and tools."""

import json
import os
import pathlib
import shutil
import sys
from dataclasses import dataclass, field

from ..plan import Plan

TOOLKITS = [pathlib.Path("/usr/local"), pathlib.Path("/opt/nvidia")]
OF_CUDA = ("libcudart.so.*", "libcublasLt.so.*", "libcudnn.so.*")


def packages():
    """The folders of CUDA's parts that pip has installed: nvidia/cu13, nvidia/cudnn."""
    return [folder for base in sys.path if base for folder in sorted(pathlib.Path(base, "nvidia").glob("*"))]


def library_folders():
    """Where this machine has CUDA's libraries: what pip installed, then toolkits."""
    folders = [folder / "lib" for folder in packages()]
    folders += [folder / lib for folder in sorted(TOOLKITS[0].glob("cuda*"), reverse=True) for lib in ("lib64", "lib")]
    return [folder for folder in folders if any(next(folder.glob(name), None) for name in OF_CUDA)]


def tool(name):
    """The path of compute-sanitizer or ncu, or ""."""
    folders = [folder / "bin" for folder in packages()]
    for pattern in ("cuda*/bin", "cuda*/compute-sanitizer", "cuda*/nsight-compute*", "nsight-compute/*"):
        folders += [folder for base in TOOLKITS for folder in sorted(base.glob(pattern), reverse=True)]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(map(str, folders))) or ""


@dataclass
class PackPlan(Plan):
    """`root` is the folder of the pack."""

    pack: dict = field(default_factory=dict)  # pack.json

    @property
    def tree(self):
        return self.root / "tree"

    @property
    def device(self):
        """What PyTorch calls the device that it is compared on."""
        return "cpu" if self.stand_in else "cuda"

    def libraries(self):
        """LD_LIBRARY_PATH of tandem's programs alone: PyTorch finds its own."""
        named = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if folder]
        return os.pathsep.join(map(str, [self.root / "lib", *named, *library_folders()]))

    def environment(self):
        return {**super().environment(), "LD_LIBRARY_PATH": self.libraries(), "TANDEM_DATA_DIR": str(self.root / "data")}


def plan_of(folder, out):
    """The plan for the pack in `folder`. Raises OSError or ValueError where there is none."""
    pack = json.loads((folder / "pack.json").read_text())
    return PackPlan(folder, out, [], "", "", pack["stand_in"], rounds=2, quick=True, gpus=[{}], pack=pack)
