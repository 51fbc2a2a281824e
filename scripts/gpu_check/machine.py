# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Describes this machine, and the commit that runs."""

import functools
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess

# What nvidia-smi is asked for, in groups: it refuses a whole group if it does not know a word of it.
QUERIES = ["name,pci.bus_id,driver_version,memory.total,compute_cap", "clocks.sm,clocks.max.sm,clocks.mem,clocks.max.mem",
           "power.limit,power.draw,temperature.gpu,persistence_mode,compute_mode", "ecc.mode.current,mig.mode.current",
           "pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max"]


def output_of(*command):
    """What the command prints; "" if it fails or does not exist."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip("\n").rstrip() if done.returncode == 0 else ""


@functools.cache
def first_line(*command):
    return output_of(*command).split("\n")[0].strip()


def version_in(text, pattern=r"(\d+(?:\.\d+)+)"):
    """The first version in the text that matches: (3, 25, 1); () if there is none."""
    found = re.search(pattern, text)
    return tuple(int(word) for word in found.group(1).split(".")) if found else ()


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


@functools.cache
def nvcc_says(option):
    folder = toolkit()
    return output_of(str(folder / "bin" / "nvcc"), option) if folder else ""


def nvcc_version():
    return version_in(nvcc_says("--version"), r"release (\d+\.\d+)")


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


@functools.cache
def nvidia_smi():
    """What nvidia-smi says of each GPU of the machine, in the order of PCI addresses; [] if it says nothing."""
    gpus = {}
    for query in QUERIES:
        rows = output_of("nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader").splitlines()
        for i, row in enumerate(rows):
            gpus.setdefault(i, {}).update(zip(query.split(","), (word.strip() for word in row.split(","))))
    return list(gpus.values())


@functools.cache
def topology():
    return output_of("nvidia-smi", "topo", "-m")


def peers_in(row, gpu):
    return ", ".join(f"cuda:{other}" for other, can in enumerate(row) if can and other != gpu) or "none"


def of_gpus(driver):
    """Rows for the report: each GPU that a program sees, and what nvidia-smi says of all."""
    rows = {f"cuda:{i}": f"{g['name']}, compute capability {g['compute_capability']}, {g['memory_mib']} MiB, {g['pci']}"
            for i, g in enumerate(driver["gpus"])}
    for i, gpu in enumerate(nvidia_smi()):
        rows[f"GPU {i} of nvidia-smi"] = ", ".join(f"{key} {value}" for key, value in gpu.items())
    if len(driver["gpus"]) > 1:
        rows["peers"] = "; ".join(f"cuda:{i} reads {peers_in(row, i)}" for i, row in enumerate(driver["peers"]))
    return rows


def describe(root, plan, driver):
    """{what: text} of all that a figure depends on; what this machine does not have is "not found"."""
    smi = nvidia_smi()
    found = {"commit": commit(root), **of_gpus(driver),
             "driver": smi[0].get("driver_version", "") if smi else "", "CUDA of the driver": driver.get("cuda", ""),
             "CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "not set"),
             "toolkit": ".".join(map(str, nvcc_version())),
             "compute-sanitizer": first_line(tool("compute-sanitizer"), "--version") if tool("compute-sanitizer") else "",
             "built for": ", ".join(f"sm_{a}" for a in plan.architectures),
             "compiler": first_line(plan.compiler, "--version"), "cmake": first_line("cmake", "--version"),
             "generator": plan.generator, "cpu": cpu(), "cores": len(os.sched_getaffinity(0)),
             "system": platform.platform()}
    return {key: value or "not found" for key, value in found.items()}
