# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Measures a model in torch.nn.DataParallel, cuts its batch as balance() says, and measures again; then fits its peaks to its batches."""

import json

import models
import torch
import torch.nn.functional as F
from tandem.gpu_memory import balance, fit, measure
from torch import nn
from torch.nn.parallel._functions import Scatter

WORDS = 40


class Uneven(nn.DataParallel):
    """Gives the first GPU `first` rows."""

    first = None

    def scatter(self, inputs, kwargs, device_ids):
        if self.first is None:
            return super().scatter(inputs, kwargs, device_ids)
        rows, others = inputs[0].shape[0], len(device_ids) - 1
        left = rows - self.first
        sizes = [self.first, *(left // others + (i < left % others) for i in range(others))]
        return [(x,) for x in Scatter.apply(device_ids, sizes, 0, inputs[0])], [{}] * len(device_ids)


class Wide(nn.Module):
    """Saves much, and returns little."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(12)))
        self.head = nn.Linear(64, WORDS)

    def forward(self, x):
        return self.head(self.layers(x))


model = Uneven(Wide().cuda())
optimizer = torch.optim.AdamW(model.parameters())


def step(rows):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(torch.randn(rows, 64, device="cuda")), torch.randint(WORDS, (rows,), device="cuda"))
    loss.backward()
    optimizer.step()


step(512)
even = measure(lambda: step(512))
cut = balance(even)
model.first = cut.gpu0_bsz
step(512)
balanced = measure(lambda: step(512))
model.first = None
lines = fit(step, [256, 512])
later = measure(lambda: step(1024))
print(json.dumps({
    "even": [gpu.peak_bytes for gpu in even.gpus], "gpu0_bsz": cut.gpu0_bsz, "rows": cut.rows, "largest": cut.largest_batch,
    "predicted": [cut.first_peak, cut.other_peak], "balanced": [gpu.peak_bytes for gpu in balanced.gpus],
    "line": list(lines.predict(1024).values()), "later": [gpu.peak_bytes for gpu in later.gpus],
    "most": lines.largest_batch({f"cuda:{i}": 8 << 20 for i in range(4)}), "at_most": lines.largest_batch(),
    "advice": even.advice(),
}))
