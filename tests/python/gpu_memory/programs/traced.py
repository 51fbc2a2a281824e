# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a trace of PyTorch's profiler of a step, and prints the allocator's peaks in it as JSON.

usage: traced.py FILE
"""

import json
import sys

import models
import torch

step = models.words(torch.optim.AdamW, True)
for _ in range(2):
    step()
for gpu in range(4):
    torch.cuda.reset_peak_memory_stats(gpu)
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profiler:
    step()
profiler.export_chrome_trace(sys.argv[1])
print(json.dumps([torch.cuda.max_memory_allocated(gpu) for gpu in range(4)]))
