# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Measures a step of each model; prints a line of JSON for each: the allocator's figures with and without, and the report.

usage: measured.py [NAME...]
"""

import gc
import json
import sys

import models
import torch
from tandem.gpu_memory import measure


def peaks(step):
    """step()'s result, and the allocator's peaks meanwhile."""
    for gpu in range(torch.cuda.device_count()):
        torch.cuda.synchronize(gpu)
        torch.cuda.reset_peak_memory_stats(gpu)
    result = step()
    return result, [torch.cuda.max_memory_allocated(gpu) for gpu in range(torch.cuda.device_count())]


for name, make in models.cases().items():
    if sys.argv[1:] and name not in sys.argv[1:]:
        continue
    torch.manual_seed(0)
    step = make()
    for _ in range(3):
        step()
    for labels in (True, False):
        _, plain = peaks(step)
        report, measured = peaks(lambda: measure(step, labels=labels))
        print(json.dumps({"name": name, "labels": labels, "plain": plain, "measured": measured, "report": report.as_dict()}))
    del step
    gc.collect()
    torch.cuda.empty_cache()
