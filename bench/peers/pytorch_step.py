#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch's training step on one CPU device and prints JSON.

One step is forward, cross entropy, backward, optimizer step and zero_grad(set_to_none=True), in f32.
"""

import argparse
import json

import torch

import peer_models as peer


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    peer.add_arguments(parser)
    parser.add_argument("--threads", type=int, default=2)
    args = peer.parse(parser)
    torch.set_num_threads(args.threads)

    by_layout = {}
    for layout in peer.layouts_to_try(args.model, args.layout):
        model = peer.make_model(args.model, layout)
        optimizer = peer.make_optimizer(args.optimizer, model.parameters())
        x, y = peer.make_batch(args.model, args.batch, layout)
        times = peer.time_steps(model, optimizer, x, y, args.warmup, args.steps)
        by_layout[layout] = peer.summary(times)
    print(json.dumps(peer.report(args, "single", 1, args.threads, by_layout)))


if __name__ == "__main__":
    main()
