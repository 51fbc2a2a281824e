# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Trains by DistributedDataParallel, one process for each GPU: under torchrun, or in processes that it spawns itself.

usage: ranks.py [STEPS [FILE [WORDS]]]    # FILE: for the rendezvous of two processes that it spawns
"""

import os
import sys

import models
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


def train(rank, steps, rendezvous, words):
    dist.init_process_group("gloo", **rendezvous)
    torch.cuda.set_device(rank)
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(models.LanguageModel(words).cuda(), device_ids=[rank])
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(steps):
        x = torch.randint(words, (8 + 8 * rank, 8), device="cuda")
        F.cross_entropy(model(x).flatten(0, 1), x.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"rank {rank}, step {step + 1}", flush=True)
    dist.destroy_process_group()


def spawned(rank, steps, file, words):
    train(rank, steps, {"init_method": f"file://{file}", "rank": rank, "world_size": 2}, words)


if __name__ == "__main__":
    steps, words = int((sys.argv[1:] or [4])[0]), int((sys.argv[3:] or [1000])[0])
    if "RANK" in os.environ:
        train(int(os.environ["LOCAL_RANK"]), steps, {}, words)
    else:
        torch.multiprocessing.spawn(spawned, (steps, sys.argv[2], words), nprocs=2)
        print("all ended", flush=True)
