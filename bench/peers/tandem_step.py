#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Times training steps of tandem's Python package, or of torch.nn.DataParallel on the same virtual devices, and prints JSON.

step        tandem's model.step, mode sharded with tandem.Optimizer: compare it with pytorch_ddp.py.
call        loss(model(x), y).backward() and PyTorch's own optimizer, by tandem.
torch       the same by torch.nn.DataParallel itself; compare call with it.
evaluate    four batches without gradients: bytes that leave the first device, by tandem and by torch.nn.DataParallel.

Needs the built package and PyTorch in PYTHONPATH (docs/pytorch.md).
"""

import argparse
import contextlib
import json

import peer_models as peer
import tandem
import torch
from torch.nn import functional as F


def loss_of(model, batch):
    x, y = batch
    return F.cross_entropy(model(x).flatten(0, -2), y.flatten())


def time_step(args, layout):
    model = peer.make_model(args.model, layout)
    wrapper = tandem.DataParallel(model, devices=args.devices, mode="sharded")
    kind = torch.optim.SGD if args.optimizer == "sgd" else torch.optim.AdamW
    options = {"lr": 1e-2, "momentum": 0.9} if args.optimizer == "sgd" else {"lr": 1e-3}
    optimizer = tandem.Optimizer(model, kind, **options)
    batch = peer.make_batch(args.model, args.batch, layout)

    def step():
        wrapper.step(batch, loss_of, optimizer)

    peer.time_calls(step, args.warmup)
    return peer.time_calls(step, args.steps)


def wrapped(program, model, devices):
    if program == "torch":
        return torch.nn.DataParallel(model, [int(name.rpartition(":")[2]) for name in devices])
    return tandem.DataParallel(model, devices=devices)


def time_call(args, layout):
    devices = tandem.configure_devices(args.devices)
    model = peer.make_model(args.model, layout, "tandem:0")
    optimizer = peer.make_optimizer(args.optimizer, model.parameters())
    x, y = peer.make_batch(args.model, args.batch, layout, device="tandem:0")
    return peer.time_steps(wrapped(args.program, model, devices), optimizer, x, y, args.warmup, args.steps)


def bytes_out(program, args):
    """That leave the first device in four batches without gradients."""
    devices = tandem.configure_devices(args.devices)
    model = peer.make_model(args.model, "contiguous", "tandem:0").eval()
    wrapper = wrapped(program, model, devices)
    x, _ = peer.make_batch(args.model, args.batch, "contiguous", device="tandem:0")

    def evaluate():
        with torch.no_grad():
            for _ in range(4):
                wrapper(x)

    links = json.loads(tandem.explain(evaluate).json())["links"]
    return sum(link["bytes"] for link in links if link["source"] == "cpu:0")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    peer.add_arguments(parser)
    parser.add_argument("--program", choices=["step", "call", "torch", "evaluate"], default="step")
    parser.add_argument("--devices", default="cpu:2")
    args = peer.parse(parser)
    torch.set_num_threads(1)
    tandem.configure_devices(args.devices)
    tandem.register_devices()
    on_devices = tandem.torch_data_parallel_on_virtual_devices if args.program in ("torch", "evaluate") else contextlib.nullcontext
    with on_devices():
        if args.program == "evaluate":
            out = {program: bytes_out(program, args) for program in ("tandem", "torch")}
            print(json.dumps({"bytes_out": out, "ratio": round(out["tandem"] / out["torch"], 3)}))
            return
        times = time_step if args.program == "step" else time_call
        by_layout = {layout: peer.summary(times(args, layout)) for layout in peer.layouts_to_try(args.model, args.layout)}
    print(json.dumps(peer.report(args, f"tandem-{args.program}", 1, 1, by_layout)))


if __name__ == "__main__":
    main()
