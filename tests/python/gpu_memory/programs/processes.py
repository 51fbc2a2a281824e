# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Measures a step of one process of DistributedDataParallel or FSDP2; prints the report as JSON.

usage: processes.py ddp | ddp-view | fsdp FILE    # FILE: for the rendezvous
"""

import json
import sys

import models
import torch
import torch.distributed as dist
import torch.nn.functional as F
from tandem.gpu_memory import measure
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

kind, file = sys.argv[1:]
dist.init_process_group("gloo", init_method=f"file://{file}", rank=0, world_size=1)
model = models.LanguageModel().cuda()
if kind == "fsdp":
    mesh = init_device_mesh("cuda", (1,))
    fully_shard(model.block, mesh=mesh)
    fully_shard(model, mesh=mesh)
else:
    model = DistributedDataParallel(model, device_ids=[0], gradient_as_bucket_view=kind == "ddp-view")
optimizer = torch.optim.AdamW(model.parameters())


def step():
    x = torch.randint(2000, (8, 16), device="cuda")
    F.cross_entropy(model(x).flatten(0, 1), x.flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(3):
    step()
print(json.dumps(measure(step).as_dict()))
