# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Takes memory of GPUs outside of PyTorch, as CUDA's context, NCCL's communicators and other processes do; prints the reports as JSON.

usage: outside.py FILE    # for the rendezvous of a process group
"""

import ctypes
import importlib
import json
import os
import sys
from unittest import mock

import torch
import torch.distributed as dist
from control import LIBRARY
from models import LanguageModel
from tandem.gpu_memory import measure
from tandem.gpu_memory.step_finder import StepFinder
from torch import nn
from torch.nn.parallel import distributed

MIB = 1 << 20
data_parallel = importlib.import_module("torch.nn.parallel.data_parallel")  # the package has a function of its name


def take(gpu, nbytes):
    with torch.cuda.device(gpu):
        assert LIBRARY.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(nbytes)) == 0


def taking_once(function, gpus, nbytes):
    """`function`, whose first call makes communicators."""
    left = list(gpus)

    def called(*args, **kwargs):
        while left:
            take(left.pop(), nbytes)
        return function(*args, **kwargs)

    return called


def steps_of(model, count):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(count):
        optimizer.zero_grad()
        model(torch.randint(2000, (8, 4), device="cuda")).square().mean().backward()
        optimizer.step()


def tell(name, report):
    gpus = [{"outside": gpu.outside_bytes, "own": gpu.own_outside, "others": gpu.other_processes} for gpu in report.gpus]
    print(json.dumps({"name": name, "gpus": gpus, "text": report.text(), "page": report.html()}), flush=True)


for gpu in range(4):
    take(gpu, (2 + gpu) * MIB)
LIBRARY.stand_in_occupy(1, 4711, ctypes.c_size_t(100 * MIB))
data_parallel.replicate = taking_once(data_parallel.replicate, range(4), 5 * MIB)
distributed._verify_param_shape_across_processes = taking_once(distributed._verify_param_shape_across_processes, [0], 7 * MIB)

finder = StepFinder(2, lambda: None)
steps_of(nn.DataParallel(LanguageModel().cuda()), 2)
tell("several GPUs", finder.report())

dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=0, world_size=1)
finder = StepFinder(2, lambda: None)
model = nn.parallel.DistributedDataParallel(LanguageModel().cuda(), device_ids=[0])
steps_of(model, 2)
tell("a process for each GPU", finder.report())
tell("made before", measure(lambda: steps_of(model, 1)))
with mock.patch.object(os, "getpid", lambda: 1):  # NVML's numbers of processes are those of the host
    tell("in a container", measure(lambda: steps_of(model, 1)))
