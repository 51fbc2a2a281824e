# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Follows each advice, and prints as JSON what it promised of the first GPU and what it saved; then the largest batch, predicted and found.

usage: advised.py FILE    # for the rendezvous of a process group
"""

import gc
import json
import sys

import models
import torch
import torch.distributed as dist
import torch.nn.functional as F
from tandem.gpu_memory import fit, measure
from torch import nn
from torch.utils.checkpoint import checkpoint

WORDS, ROWS, WIDTH = 4000, 32, 256
LIMIT = 200 << 20  # bytes


def measured(step):
    """The report of a step, when nothing of those before is left."""
    for _ in range(2):
        step()
    report = measure(step)
    gc.collect()
    torch.cuda.empty_cache()
    return report


def training(model, loss):
    """A step of it. `loss` makes a batch."""
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        optimizer.zero_grad()
        loss(model).backward()
        optimizer.step()

    return step


def loss_of(rows=ROWS):
    def loss(model):
        x = torch.randint(WORDS, (rows, 8), device="cuda")
        return F.cross_entropy(model(x).flatten(0, 1), x.flatten())

    return loss


class WithLoss(nn.Module):
    """Its forward has the loss; it may return the outputs, too."""

    def __init__(self, returns_outputs):
        super().__init__()
        self.net, self.returns_outputs = models.LanguageModel(WORDS), returns_outputs

    def forward(self, x):
        y = self.net(x)
        loss = F.cross_entropy(y.flatten(0, 1), x.flatten()).unsqueeze(0)
        return (loss, y.detach()) if self.returns_outputs else (loss,)


def loss_of_forward(model):
    found = model(torch.randint(WORDS, (ROWS, 8), device="cuda"))
    return found[0].mean()


class Blocks(nn.Module):
    """Equal blocks, whose activations are far larger than their weights."""

    def __init__(self, recomputed=False):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(8))
        self.recomputed = recomputed

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.recomputed else block(x)
        return x


def mean_of_blocks(model, dtype=None):
    with torch.autocast("cuda", dtype=dtype, enabled=dtype is not None):
        return model(torch.randn(8192, WIDTH, device="cuda")).mean()


def holding(held):
    def loss(model):
        held.append(torch.zeros(1 << 22, device="cuda"))
        del held[:-3]
        return mean_of_blocks(model)

    return loss


def tell(name, before, after):
    promised = {remedy.name: remedy.saves for remedy in before.remedies()}
    peaks = [max(gpu.peak_bytes for gpu in report.gpus) for report in (before, after)]
    print(json.dumps({"remedy": name, "promised": promised.get(name), "seen": peaks[0] - peaks[1], "peak": peaks[0], "all": promised}), flush=True)


torch.manual_seed(0)
plain = measured(training(nn.DataParallel(models.LanguageModel(WORDS).cuda()), loss_of()))
tell("loss in the forward", plain, measured(training(nn.DataParallel(WithLoss(False).cuda()), loss_of_forward)))
tell("fewer outputs", measured(training(nn.DataParallel(WithLoss(True).cuda()), loss_of_forward)),
     measured(training(nn.DataParallel(WithLoss(False).cuda()), loss_of_forward)))
dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=0, world_size=1)
tell("a process for each GPU", plain, measured(training(nn.parallel.DistributedDataParallel(models.LanguageModel(WORDS).cuda(), device_ids=[0]), loss_of(ROWS // 4))))
blocks = measured(training(Blocks().cuda(), mean_of_blocks))
tell("recomputation", blocks, measured(training(Blocks(True).cuda(), mean_of_blocks)))
tell("16 bit", blocks, measured(training(Blocks().cuda(), lambda model: mean_of_blocks(model, torch.bfloat16))))
kept = []
tell("let go", measured(training(Blocks().cuda(), holding(kept))), blocks)
kept.clear()

model = nn.DataParallel(models.LanguageModel(WORDS).cuda())
optimizer = torch.optim.AdamW(model.parameters())


def step(rows):
    optimizer.zero_grad()
    loss_of(rows)(model).backward()
    optimizer.step()


def fits(rows):
    """Whether a step of so many rows keeps to the limit."""
    torch.cuda.empty_cache()
    try:
        step(rows)
    except torch.OutOfMemoryError:
        return False
    return True


predicted = fit(step, [64, 128]).largest_batch({f"cuda:{i}": LIMIT for i in range(4)})
for gpu in range(4):
    with torch.cuda.device(gpu):  # PyTorch 2.8 would leave the last one as the current GPU
        torch.cuda.set_per_process_memory_fraction(LIMIT / torch.cuda.mem_get_info()[1])
low, high = 64, 2 * predicted
while high - low > max(4, predicted // 50):
    middle = (low + high) // 8 * 4
    low, high = (middle, high) if fits(middle) else (low, middle)
print(json.dumps({"predicted": predicted, "found": low}))
