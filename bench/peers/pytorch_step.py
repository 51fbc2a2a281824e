#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch's training step on one device and prints JSON.

One step is forward, cross entropy, backward, optimizer step and zero_grad(set_to_none=True), in f32;
on a GPU until it has done all of it. TF32 is off unless asked for, also where PyTorch would use it
(convolutions), as tandem's products are of f32.
"""

import argparse
import json

import torch

import peer_models as peer


def time_layout(layout, args):
    model = peer.make_model(args.model, layout, args.device)
    optimizer = peer.make_optimizer(args.optimizer, model.parameters())
    x, y = peer.make_batch(args.model, args.batch, layout, device=args.device)
    runs = torch.compile(model) if args.compile else model
    return peer.summary(peer.time_steps(runs, optimizer, x, y, args.warmup, args.steps, args.dtype))


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__)
    peer.add_arguments(parser)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--dtype", choices=list(peer.DTYPES), default="f32", help="type of products, set by autocast")
    parser.add_argument("--compile", action="store_true", help="use torch.compile, which compiles during the warm-up")
    parser.add_argument("--tf32", action="store_true", help="let a GPU's products round to TF32")
    return peer.parse(parser, words)


def measure(args):
    """What the program prints."""
    torch.set_num_threads(args.threads)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = args.tf32

    by_layout = {layout: time_layout(layout, args) for layout in peer.layouts_to_try(args.model, args.layout)}
    result = peer.report(args, "compiled" if args.compile else "single", 1, args.threads, by_layout)
    if args.device == "cuda":
        result |= {"gpu": torch.cuda.get_device_name(), "tf32": args.tf32,
                   "peak_mib": round(torch.cuda.max_memory_allocated() / 2**20, 1)}
    return result


if __name__ == "__main__":
    print(json.dumps(measure(parse())))
