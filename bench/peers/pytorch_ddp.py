#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch's DistributedDataParallel or FSDP2 over gloo on this machine and prints JSON.

Two processes of one thread each by default; every process takes its share of the batch. The time of
a step is that of the slowest process.
"""

import argparse
import datetime
import gc
import json
import os
import pathlib
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.fsdp as fsdp
import torch.multiprocessing as mp

import peer_models as peer


def rows_of(rank, args):
    return args.batch // args.processes + (rank < args.batch % args.processes)


def wrapped(model, wrapper):
    if wrapper == "ddp":
        return torch.nn.parallel.DistributedDataParallel(model)
    # As step_bench: transformer blocks where there are some, else the direct parts.
    blocks = [part for part in model.modules() if isinstance(part, peer.Block)]
    for unit in blocks or model.children():
        if any(True for _ in unit.parameters()):
            fsdp.fully_shard(unit)
    return fsdp.fully_shard(model)


def time_layout(layout, rank, args):
    model = wrapped(peer.make_model(args.model, layout), args.wrapper)
    optimizer = peer.make_optimizer(args.optimizer, model.parameters())
    x, y = peer.make_batch(args.model, rows_of(rank, args), layout, rank)
    times = torch.tensor(peer.time_steps(model, optimizer, x, y, args.warmup, args.steps))
    dist.all_reduce(times, op=dist.ReduceOp.MAX)
    return times.tolist()


def run_rank(rank, args, folder):
    torch.set_num_threads(args.threads)
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank,
                            world_size=args.processes, timeout=datetime.timedelta(seconds=120))
    layouts = peer.layouts_to_try(args.model, args.layout)
    by_layout = {layout: peer.summary(time_layout(layout, rank, args)) for layout in layouts}
    if rank == 0:
        result = peer.report(args, f"{args.wrapper}-gloo", args.processes, args.threads, by_layout)
        pathlib.Path(folder, "result.json").write_text(json.dumps(result))
    gc.collect()  # the reducer keeps the group's threads, which must not outlive the interpreter
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    peer.add_arguments(parser)
    parser.add_argument("--wrapper", choices=["ddp", "fsdp2"], default="ddp")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="threads of each process")
    args = peer.parse(parser)
    if args.batch < args.processes:
        parser.error(f"--batch {args.batch} has less than one row for each of {args.processes} processes")

    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    os.environ["OMP_NUM_THREADS"] = str(args.threads)  # read by the children as they start
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(run_rank, args=(args, folder), nprocs=args.processes)
        print(pathlib.Path(folder, "result.json").read_text())


if __name__ == "__main__":
    main()
