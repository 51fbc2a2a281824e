#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch's products, copy and elementwise ops, by the names of ops_bench's, and prints JSON.

The figure of an op is the median of its rounds; on a GPU a round is many calls between two events.
TF32 is off.
"""

import argparse
import json
import statistics
import time

import torch

SHAPES = [(512, 1024, 784), (512, 1024, 1024), (512, 10, 1024), (2048, 2048, 2048), (128, 128, 128), (32, 32, 32)]
COUNTS = [1 << 20, 1 << 26]
ROUNDS = 9


def seconds(call, device):
    """The time of one call."""
    calls = 1
    while True:  # until a round takes long enough to be timed
        took = timed(call, calls, device)
        if took > 0.02:
            break
        calls = max(2 * calls, int(calls * 0.03 / max(took, 1e-9)))
    return statistics.median(timed(call, calls, device) for _ in range(ROUNDS)) / calls


def timed(call, calls, device):
    if device == "cuda":
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return time.perf_counter() - start


def figure(took, **rates):
    return {"real_time": round(took * 1e6, 3), "time_unit": "us", **{k: v / took for k, v in rates.items()}}


def products(device):
    figures = {}
    for m, n, k in SHAPES:
        x, weight = torch.randn(m, k, device=device), torch.randn(n, k, device=device)
        took = seconds(lambda: torch.nn.functional.linear(x, weight), device)
        figures[f"BM_LinearF32/m:{m}/n:{n}/k:{k}"] = figure(took, **{"FLOP/s": 2 * m * n * k})
    return figures


def elementwise(device):
    figures = {}
    for n in COUNTS:
        x, y = torch.randn(n, device=device), torch.randn(n, device=device)
        for name, tensors, call in (("Copy", 2, x.clone), ("Relu", 2, lambda: torch.relu(x)), ("Add", 3, lambda: x + y)):
            figures[f"BM_{name}/n:{n}"] = figure(seconds(call, device), bytes_per_second=tensors * x.nbytes)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.backends.cuda.matmul.allow_tf32 = False
    with torch.inference_mode():
        figures = products(args.device) | elementwise(args.device)
    print(json.dumps({"schema_version": 1, "program": f"PyTorch {torch.__version__}", "device": args.device,
                      "threads": args.threads, "ops": figures}))


if __name__ == "__main__":
    main()
