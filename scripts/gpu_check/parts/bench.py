# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Part bench: training steps against PyTorch, in turn, and single ops."""

import sys

from ..figures import read_benchmarks, read_json
from ..steps import Step

MODELS = ["mlp", "cnn", "gpt"]
LARGE_MODELS = ["resnet50", "gpt2"]
NO_TORCH = "there is no PyTorch that sees a GPU"
QUICK_ROUNDS = 2
MOST_LARGE_ROUNDS = 2  # so that a comparison of large models ends within its time
ASK_TORCH = """
import json
try:
    import torch
    print(json.dumps({"version": torch.__version__, "cuda": torch.version.cuda, "gpu": torch.cuda.is_available()}))
except Exception as e:
    print(json.dumps({"version": None, "gpu": False, "error": f"{type(e).__name__}: {e}"}))
"""


def read_torch(log):
    figures = read_json(log)
    error = f" ({figures['error']})" if "error" in figures else ""
    return figures if figures["gpu"] else {**figures, "nothing_run": NO_TORCH + error}


def torch():
    """Asks for PyTorch, once: it takes seconds to start."""
    return Step("bench/pytorch", "bench", [sys.executable, "-c", ASK_TORCH], timeout=120, read=read_torch)


def needs_torch(state):
    return "" if state.figures("bench/pytorch").get("gpu") else NO_TORCH


def compare(plan, model, variant, peer_arguments, arguments="", steps="--steps 200 --warmup 50", rounds=None):
    peers = plan.root / "bench" / "peers"
    program = plan.tree / "bench" / "step" / "step_bench"
    python = f"{sys.executable} {peers}/pytorch_step.py --device cuda --model {model}"
    name = f"bench/{model}/{variant}{'-quick' if plan.quick else ''}"
    return Step(name, "bench", [
        sys.executable, peers / "compare.py", "--rounds", str(rounds or plan.rounds),
        "--tandem", f"{program} --model {model} --devices cuda:0 {steps} {arguments}",
        "--peer", f"{python} {steps} {peer_arguments}"], plan.environment(), read=read_json, skip=needs_torch)


def comparisons(plan):
    if plan.quick:
        return [compare(plan, model, "eager", "", rounds=QUICK_ROUNDS) for model in MODELS]
    variants = [("eager", "", ""), ("eager-tf32", "--tf32", "--tf32"), ("compile", "--compile", "")]
    large = [("eager", "", ""), ("eager-bf16", "--dtype bf16", "--dtype bf16"),
             ("compile-bf16", "--compile --dtype bf16", "--dtype bf16")]
    return ([compare(plan, model, *variant) for model in MODELS for variant in variants] +
            [compare(plan, model, *variant, "--steps 30 --warmup 10", min(plan.rounds, MOST_LARGE_ROUNDS))
             for model in LARGE_MODELS for variant in large])


def alone(plan, model, label, *arguments):
    program = plan.tree / "bench" / "step" / "step_bench"
    return Step(f"bench/{model}/{label}", "bench", [program, "--model", model, *arguments], plan.environment(), read=read_json)


def ops(plan):
    file = plan.out / "ops.json"
    return Step("bench/ops", "bench", [
        plan.tree / "bench" / "ops" / "ops_bench", "--device=cuda:0", f"--benchmark_out={file}",
        "--benchmark_out_format=json", "--benchmark_filter=(path:0/|last:[01]/|n:[0-9]+/)threads:1/"],
        plan.environment(), read=read_benchmarks(file), writes=file)


def peer_ops(plan):
    """The same ops in PyTorch, by the same names."""
    return Step("bench/ops-pytorch", "bench", [
        sys.executable, plan.root / "bench" / "peers" / "pytorch_ops.py", "--device", "cuda"],
        read=lambda log: read_json(log)["ops"], skip=needs_torch)


def steps(plan):
    profiles = [alone(plan, model, "profile", "--devices", "cuda:0", "--profile", "--steps", "20")
                for model in (MODELS if plan.quick else MODELS + LARGE_MODELS)]
    todo = [torch(), *comparisons(plan), *profiles]
    if plan.quick:
        return todo
    return [*todo, *(alone(plan, model, "cuda_0x4", "--devices", "cuda:0x4") for model in MODELS), ops(plan), peer_ops(plan)]
