#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
r"""Times training steps of several models, tandem's and PyTorch's in turn, in one process of Python.

PyTorch takes seconds to start, and starts once for all models. After each round of a model a line of
JSON has what is known of it, so that a run that is ended has told what it measured. Without PyTorch
tandem is measured alone.

    bench/peers/in_turn.py --tandem "build/bench/step/step_bench --devices cuda:0" --device cuda \
      --rounds 2 gpt2:bf16 mlp
"""

import argparse
import json
import statistics
import sys

import compare


def start_pytorch(device):
    """(pytorch_step, a line about PyTorch); (None, the reason) where it cannot run on the device."""
    try:
        import torch
        import pytorch_step
        if device == "cuda" and not torch.cuda.is_available():
            return None, {"pytorch": None, "error": "it sees no GPU"}
    except Exception as e:  # whatever a broken installation raises
        return None, {"pytorch": None, "error": f"{type(e).__name__}: {e}"}
    return pytorch_step, {"pytorch": torch.__version__, "cuda": torch.version.cuda}


def of_peer(pytorch_step, words, args):
    """A round of PyTorch, which then gives the GPU's memory back."""
    import gc
    import torch
    compiled = ["--compile"] if args.compile else []
    result = pytorch_step.measure(pytorch_step.parse([*words, "--device", args.device, "--optimizer", args.optimizer, *compiled]))
    gc.collect()
    if args.device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    return result


def known(name, rounds):
    """What the rounds of a model have shown: {"tandem": [result], "peer": [result]}."""
    p50 = {side: [float(result["step_ms"]["p50"]) for result in results] for side, results in rounds.items() if results}
    found = {"model": name, **{f"{side}_ms": compare.spread(figures) for side, figures in p50.items()}}
    if len(p50) == 2:
        found["ratio"] = round(statistics.median(p50["tandem"]) / statistics.median(p50["peer"]), 3)
        found["peak_mib"] = {side: results[-1].get("peak_mib") for side, results in rounds.items()}
    elif "tandem" in p50:
        found["step_ms"] = rounds["tandem"][-1]["step_ms"]
    return found


def measure(name, pytorch_step, args):
    """Prints what is known of a model after each round."""
    model, _, dtype = name.partition(":")
    words = ["--model", model, "--dtype", dtype or "f32", "--steps", str(args.steps), "--warmup", str(args.warmup)]
    words += ["--batch", str(args.batch)] if args.batch else []
    sides = {"tandem": lambda: compare.run_once(" ".join([args.tandem, *words]), args.timeout)}
    if pytorch_step:
        sides["peer"] = lambda: of_peer(pytorch_step, words, args)
    rounds = {side: [] for side in sides}
    for i in range(args.rounds):
        for side in list(sides) if i % 2 == 0 else reversed(sides):  # neither always follows the other
            rounds[side].append(sides[side]())
        print(json.dumps(known(name, rounds)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL[:DTYPE]")
    parser.add_argument("--tandem", required=True, metavar="COMMAND", help="step_bench and its devices")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="PyTorch's")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--batch", type=int, help="rows of a step (default: as pytorch_step.py)")
    parser.add_argument("--optimizer", default="adamw-fused", help="PyTorch's (default: %(default)s)")
    parser.add_argument("--compile", action="store_true", help="PyTorch's step by torch.compile")
    parser.add_argument("--timeout", type=float, default=600, help="seconds that a round of tandem's may take")
    args = parser.parse_args()
    pytorch_step, line = start_pytorch(args.device)
    print(json.dumps(line), flush=True)
    failed = False
    for name in args.models:
        try:
            measure(name, pytorch_step, args)
        except (Exception, SystemExit) as e:  # the other models are measured nevertheless
            print(json.dumps({"model": name, "error": f"{type(e).__name__}: {e}"[:500]}), flush=True)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
