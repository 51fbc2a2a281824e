# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What a GPU holds that a stand-in has not: CUDA's context, workspaces of cuBLAS and cuDNN, fragments. Prints a line of JSON.

usage: hardware.py context | workspaces | fragments | full    # full: batches grow until memory runs out
"""

import json
import subprocess
import sys

import torch
from torch import nn

from tandem.gpu_memory import measure


def used_by_smi():
    """Bytes in use on GPU 0 as nvidia-smi has them; None: it is not there."""
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
        return int(done.stdout) << 20
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def figures():
    """The allocator's own, and the driver's."""
    free, total = torch.cuda.mem_get_info(0)
    stats = torch.cuda.memory_stats(0)
    return {"driver_used": total - free, "smi_used": used_by_smi(), "allocated": stats["allocated_bytes.all.current"],
            "peak_allocated": stats["allocated_bytes.all.peak"], "reserved": stats["reserved_bytes.all.current"],
            "inactive_split": stats["inactive_split_bytes.all.current"]}


def context():
    before = used_by_smi()
    first = torch.ones(1, device="cuda")  # makes the context
    return {"gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "cuda": torch.version.cuda, "smi_before": before,
            "device": str(first.device), **figures()}


def told_of(step):
    """The report of a step beside the figures."""
    for _ in range(3):
        step()
    torch.cuda.reset_peak_memory_stats()
    report = measure(step)
    gpu = report.gpus[0]
    return {"peak_bytes": gpu.peak_bytes, "by_cause": gpu.by_cause, "unnamed": gpu.unnamed, "reserved": gpu.reserved_bytes,
            "outside": gpu.outside_bytes, "advice": report.advice(), "figures": figures()}


def workspaces():
    """Products and convolutions, each with workspaces of its own."""
    net = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), nn.ReLU(), nn.Conv2d(64, 128, 3, 1, 1), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
                        nn.Linear(2048, 4096), nn.GELU(), nn.Linear(4096, 1000)).cuda()
    optimizer = torch.optim.AdamW(net.parameters())

    def step():
        optimizer.zero_grad()
        net(torch.randn(16, 3, 64, 64, device="cuda")).logsumexp(1).mean().backward()
        optimizer.step()

    return told_of(step)


def fragments():
    """Batches of changing sizes leave pieces that no later block fits."""
    net = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    sizes = iter([300, 700, 500, 1100, 900] * 4)

    def step():
        optimizer.zero_grad()
        net(torch.randn(next(sizes), 512, device="cuda")).square().mean().backward()
        optimizer.step()

    return told_of(step)


def full():
    net = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    rows = 1024
    while True:
        optimizer.zero_grad()
        net(torch.zeros(rows, 1024, device="cuda")).sum().backward()
        optimizer.step()
        rows *= 2


if __name__ == "__main__":
    print(json.dumps({"context": context, "workspaces": workspaces, "fragments": fragments, "full": full}[sys.argv[1]]()))
