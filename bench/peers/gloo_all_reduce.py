#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch's all_reduce over gloo among processes of this machine.

Prints JSON with the rows of `tandem collectives --json`: the time of a call on rank 0, in place, one
call after the other.

    .venv/bin/python bench/peers/gloo_all_reduce.py --processes 2 --bytes 4096 16777216
"""

import argparse
import datetime
import json
import os
import pathlib
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def percentile(values, share):
    ordered = sorted(values)
    return ordered[max(0, -(-int(share * 100) * len(ordered) // 100) - 1)]


def wrong_elements(rank, count, processes):
    """The number of wrong elements after one call on whole numbers."""
    index = torch.arange(count)
    x = ((index + 3 * rank) % 5).to(torch.float32)
    dist.all_reduce(x)
    expected = sum(((index + 3 * r) % 5).to(torch.float32) for r in range(processes))
    return int((x != expected).sum())


def time_size(rank, nbytes, args):
    x = torch.zeros(nbytes // 4)
    dist.barrier()
    times = []
    for i in range(-args.warmup, args.iterations):
        begin = time.perf_counter()
        dist.all_reduce(x)
        if i >= 0:
            times.append(time.perf_counter() - begin)
    wrong = torch.tensor(wrong_elements(rank, nbytes // 4, args.processes))
    dist.all_reduce(wrong)
    p50 = percentile(times, 0.5)
    bandwidth = nbytes / p50 * 1e-9
    return {"op": "all_reduce", "algorithm": "gloo", "ranks": args.processes, "bytes": nbytes,
            "time_us": {"p50": p50 * 1e6, "p99": percentile(times, 0.99) * 1e6},
            "algbw_GBps": bandwidth, "busbw_GBps": bandwidth * 2 * (args.processes - 1) / args.processes,
            "wrong": int(wrong)}


def run_rank(rank, args, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank,
                            world_size=args.processes, timeout=datetime.timedelta(seconds=120))
    rows = [time_size(rank, nbytes, args) for nbytes in args.bytes]
    if rank == 0:
        result = {"schema_version": 1, "dtype": "f32", "torch": torch.__version__, "rows": rows}
        pathlib.Path(folder, "result.json").write_text(json.dumps(result))
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--bytes", type=int, nargs="+", default=[4096, 16 << 20], help="sizes of the tensor, which are multiples of 4")
    parser.add_argument("--iterations", type=int, default=50)
    parser.add_argument("--warmup", type=int, default=10)
    args = parser.parse_args()
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    os.environ["OMP_NUM_THREADS"] = "1"  # read by the children as they start
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(run_rank, args=(args, folder), nprocs=args.processes)
        print(pathlib.Path(folder, "result.json").read_text())


if __name__ == "__main__":
    main()
