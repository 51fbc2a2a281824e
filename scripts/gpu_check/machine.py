# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Describes this machine, and the commit that runs."""

import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

TOOLS = ["cmake", "ninja", "g++"]


def first_line(*command):
    """The first line of the command's output; "" if the command fails or does not exist."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().splitlines()[0].strip() if done.returncode == 0 and done.stdout.strip() else ""


def toolkit():
    """The folder of CUDA's toolkit, or None."""
    nvcc = shutil.which("nvcc")
    folder = pathlib.Path(nvcc).resolve().parent.parent if nvcc else pathlib.Path(
        os.environ.get("CUDA_PATH", "/usr/local/cuda"))
    return folder if (folder / "bin" / "nvcc").exists() else None


def tool(name):
    """The path of a program of the toolkit, or ""."""
    folder = toolkit()
    found = shutil.which(name) or (shutil.which(name, path=folder / "bin") if folder else None)
    return found or (shutil.which(name, path=folder / "compute-sanitizer") if folder else None) or ""


def missing_tools():
    missing = [name for name in TOOLS if not shutil.which(name)]
    return missing if toolkit() else [*missing, "nvcc"]


def gpu():
    """Name, driver, memory and compute capability ("9.0") of the first GPU; {} if there is no GPU."""
    line = first_line("nvidia-smi", "--query-gpu=name,driver_version,memory.total,compute_cap",
                      "--format=csv,noheader")
    keys = ["gpu", "driver", "gpu_memory", "compute_capability"]
    return dict(zip(keys, (word.strip() for word in line.split(",")))) if line.count(",") == 3 else {}


def commit(root):
    bundle = root.parent / "bundle.json"
    if bundle.exists():
        return json.loads(bundle.read_text())["commit"]
    known = first_line("git", "-C", str(root), "rev-parse", "HEAD") or "unknown"
    changed = first_line("git", "-C", str(root), "status", "--porcelain", "--untracked-files=no")
    return known + (" with changes" if changed else "")


def cpu():
    try:
        found = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found.group(1) if found else platform.machine()


def has_torch():
    return first_line(sys.executable, "-c", "import torch; print(torch.cuda.is_available())") == "True"


def describe(root):
    nvcc = toolkit()
    return {"commit": commit(root), **gpu(),
            "cuda": first_line("sh", "-c", f"'{nvcc}/bin/nvcc' --version | tail -n 1") if nvcc else "",
            "compiler": first_line("g++", "--version"),
            "cpu": cpu(), "cores": os.cpu_count(), "system": platform.platform(),
            "pytorch": first_line(sys.executable, "-c", "import torch; print(torch.__version__, torch.version.cuda)")}
