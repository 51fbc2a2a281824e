# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A training step of a model in plain PyTorch, in torch.nn.DataParallel and in tandem, in turn: models.py resnet50 | gpt2"""

import gc
import sys

import peer_models
import torch
from rounds import in_turn, table
from telling import tell
from torch.nn import functional as F

import tandem

SMALL = {"resnet50": ("cnn", 8), "gpt2": ("gpt", 4)}  # which the host ends in seconds


def loss_of(model, batch):
    with torch.autocast("cuda", torch.bfloat16):
        return F.cross_entropy(model(batch[0]).flatten(0, -2), batch[1].flatten())


def of_pytorch(model, optimizer, batch, wrap):
    wrapped = wrap(model)

    def step():
        loss_of(wrapped, batch).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def of_tandem(model, optimizer, batch, devices):
    wrapper = tandem.DataParallel(model, devices=devices, batch_norm="per_replica", deadline=60.0)
    return lambda: wrapper.step(batch, loss_of, optimizer)


SIDES = {"plain": lambda *parts: of_pytorch(*parts, lambda model: model), "nn.DataParallel": lambda *parts: of_pytorch(*parts, lambda model: torch.nn.DataParallel(model, [0])),
         "tandem cuda:0": lambda *parts: of_tandem(*parts, "cuda:0"), "tandem cuda:0x4": lambda *parts: of_tandem(*parts, "cuda:0x4")}


def made(name, rows, side):
    model = peer_models.make_model(name, "contiguous", "cuda")
    return SIDES[side](model, peer_models.make_optimizer("adamw-fused", model.parameters()), peer_models.make_batch(name, rows, "contiguous", device="cuda"))


def peak_mib(name, rows, side):
    """Of three steps by themselves: what PyTorch's allocator had in use at most."""
    step = made(name, rows, side)
    step()
    torch.cuda.reset_peak_memory_stats()
    step()
    step()
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated() / 2**20
    del step
    gc.collect()
    torch.cuda.empty_cache()
    return peak


def main():
    name = sys.argv[1]
    rows, rounds, count, warmup = peer_models.DEFAULT_BATCH[name], 4, 10, 5
    if "--small" in sys.argv:
        (name, rows), rounds, count, warmup = SMALL[name], 2, 1, 1
    peaks = {side: peak_mib(name, rows, side) for side in SIDES}
    tell("peak", f"peak of {name} with {rows} rows: " + ", ".join(f"{side} {peak:.0f} MiB" for side, peak in peaks.items()), mebibytes=peaks)
    calls = {side: made(name, rows, side) for side in SIDES}
    for call in calls.values():
        for _ in range(warmup):
            call()
    for figures in in_turn(calls, rounds, count):
        tell("step", f"step of {name}: {table(figures, 'plain')}", milliseconds=figures)


if __name__ == "__main__":
    main()
