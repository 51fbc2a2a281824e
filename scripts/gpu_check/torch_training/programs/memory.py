# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What tandem.memory tells of a step by tandem and of one by torch.nn.DataParallel, beside PyTorch's own figures."""

import sys

import peer_models
import torch
from telling import tell
from torch.nn import functional as F

import tandem


def main():
    name, rows = ("mlp", 32) if "--small" in sys.argv else ("gpt2", 4)
    for side in ("tandem", "nn.DataParallel"):
        model = peer_models.make_model(name, "contiguous", "cuda")
        optimizer = torch.optim.AdamW(model.parameters())
        x, y = peer_models.make_batch(name, rows, "contiguous", device="cuda")
        wrapped = tandem.DataParallel(model, devices="cuda:0", deadline=60.0) if side == "tandem" else torch.nn.DataParallel(model, [0])

        def step(wrapped=wrapped, optimizer=optimizer, x=x, y=y):
            optimizer.zero_grad(set_to_none=True)
            F.cross_entropy(wrapped(x).flatten(0, -2), y.flatten()).backward()
            optimizer.step()

        step()
        torch.cuda.reset_peak_memory_stats()
        gpu = tandem.memory(step).gpus[0]
        measured = torch.cuda.max_memory_allocated()
        largest = ", ".join(f"{cause} {nbytes / 2**20:.0f}" for cause, nbytes in sorted(gpu.by_cause.items(), key=lambda item: -item[1])[:4])
        tell(side, f"{side}: peak {gpu.peak_bytes / 2**20:.1f} MiB told, {measured / 2**20:.1f} by PyTorch, {gpu.unnamed:.1%} without a name; MiB: {largest}",
             told=gpu.peak_bytes, measured=measured, by_cause=gpu.by_cause, unnamed=gpu.unnamed)
        del model, optimizer, wrapped, step
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
