# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Trains for some steps, as a program that knows nothing of tandem.

usage: train.py [STEPS [WORDS [failing | quiet | killed | seven | history]]]
"""

import signal
import sys

import models
import torch
import torch.nn.functional as F
from torch import nn

steps, words, mood = int((sys.argv[1:] or [4])[0]), int((sys.argv[2:] or [1000])[0]), (sys.argv[3:] or [""])[0]
torch.manual_seed(0)
model = nn.DataParallel(models.LanguageModel(words).cuda())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
if mood == "history":
    torch.cuda.memory._record_memory_history("all", context=None)
for step in range(steps):
    x = torch.randint(words, (16, 8), device="cuda")
    loss = F.cross_entropy(model(x).flatten(0, 1), x.flatten())
    loss.backward()
    if mood != "quiet":
        optimizer.step()
    optimizer.zero_grad()
    print(f"step {step + 1}: {loss.item():.4f}, {torch.cuda.max_memory_allocated()} bytes", flush=True)
if mood == "failing":
    raise ValueError("the program's own")
if mood == "killed":
    signal.raise_signal(signal.SIGTERM)
sys.exit(7 if mood == "seven" else 0)
