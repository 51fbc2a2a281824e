#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What tandem.DataParallel costs on PyTorch's GPUs, counted over their stand-in.

launches   per device and step, above a replica's own: calls of CUDA that queue or order work, and PyTorch's ops without views.
waits      of the host for a GPU, in a step of all devices: the least of some steps, since a wait that asks twice counts twice.
step_us    host time above bare threads. The copies of the stand-in are late at random, so it is the least of the rounds.
peaks      of the language model's step, each GPU's in the peak of the largest of the others.
bytes_out  of GPU 0 in four evaluations, and torch.nn.DataParallel's.

    python3 build/ci/python/tandem/stand_in bench/python/gpu_costs.py     # with the built package and PyTorch in PYTHONPATH
"""

import argparse
import collections
import ctypes
import json
import pathlib
import sys
import threading
import time

import torch
from torch import nn
from torch._C._profiler import _ExperimentalConfig
from torch.nn import functional as F

import tandem

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests/python/gpu_memory/programs"))
from models import LanguageModel  # noqa: E402

LAYERS, WIDTH, ROWS = 10, 8, 8
MODES = ("server", "sharded", "ddp", "classic")
ORDERS = {"cudaMemcpyAsync", "cudaMemsetAsync", "cudaEventRecordWithFlags", "cudaEventRecord", "cudaStreamWaitEvent"}
WAITS = {"cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize", "cudaStreamQuery"}
# Views, allocations, and ops that call others which are counted.
NO_LAUNCHES = set(
    "resolve_conj as_strided t transpose to detach view reshape expand empty empty_like empty_strided _to_copy ones_like full full_like "
    "linear item narrow slice select unsqueeze squeeze stack cross_entropy_loss log_softmax nll_loss_nd nll_loss zero_ alias".split()
)

STAND_IN = ctypes.CDLL(None)
STAND_IN.stand_in_all_calls.restype = ctypes.c_char_p


def make_model():
    return nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])


def make_batch(rows, device):
    return torch.randn(rows, WIDTH).to(device), torch.randint(WIDTH, (rows,)).to(device)


def loss_of(model, batch):
    return F.cross_entropy(model(batch[0]), batch[1])


class BareThreads:
    """A module, forward, loss, backward and its own update on each of some threads: nothing is exchanged or checked."""

    def __init__(self, count):
        self.begin, self.end = threading.Barrier(count + 1), threading.Barrier(count + 1)
        for gpu in range(count):
            model = make_model().to(gpu)
            optimizer = torch.optim.Adam(model.parameters(), fused=True)
            threading.Thread(target=self.run, args=(model, make_batch(ROWS // count, gpu), optimizer), daemon=True).start()

    def run(self, model, part, optimizer):
        while True:
            self.begin.wait()
            optimizer.zero_grad()
            loss_of(model, part).backward()
            optimizer.step()
            self.end.wait()

    def __call__(self):
        self.begin.wait()
        self.end.wait()


def steps_of_tandem(mode, backend):
    model = make_model().cuda()
    wrapper = tandem.DataParallel(model, mode=mode, backend=backend)
    optimizer = tandem.Optimizer(wrapper, torch.optim.Adam, lr=1e-3)
    batch = make_batch(ROWS, "cuda")
    return lambda: wrapper.step(batch, loss_of, optimizer)


def calls():
    lines = STAND_IN.stand_in_all_calls().decode().splitlines()
    return collections.Counter({name: int(n) for name, n in (line.split() for line in lines)})


def counts_of(step, repeats=5):
    """Of a step: what is queued, and waits."""
    for _ in range(3):
        step()
    each = []
    for _ in range(repeats):
        before = calls()
        step()
        each.append(calls() - before)
    made = sum(each, collections.Counter())
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                experimental_config=_ExperimentalConfig(profile_all_threads=True)) as profile:
        step()
    ops = {e.key.removeprefix("aten::"): e.count for e in profile.key_averages() if e.key.startswith("aten::")}
    launched = sum(n for name, n in ops.items() if name not in NO_LAUNCHES and name != "_local_scalar_dense")
    return {"calls": sum(made[name] for name in ORDERS) / repeats, "ops": launched,
            "all_calls": sum(made.values()) / repeats, "waits": min(sum(one[name] for name in WAITS) for one in each)}


def least_us(steps, rounds, repeats=10):
    times = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            begin = time.perf_counter()
            for _ in range(repeats):
                step()
            times[name].append(1e6 * (time.perf_counter() - begin) / repeats)
    return {name: round(min(values)) for name, values in times.items()}


def peaks_of(mode, backend):
    model = LanguageModel().cuda()
    wrapper = tandem.DataParallel(model, mode=mode, backend=backend)
    optimizer = tandem.Optimizer(wrapper, torch.optim.Adam, lr=1e-3)
    batch = torch.randint(2000, (16, 8), device="cuda"), torch.randint(2000, (16, 8), device="cuda")

    def step():
        wrapper.step(batch, lambda replica, part: F.cross_entropy(replica(part[0]).flatten(0, 1), part[1].flatten()), optimizer)

    step()
    gpus = range(torch.cuda.device_count())
    for gpu in gpus:
        torch.cuda.reset_peak_memory_stats(gpu)
    step()
    peaks = [torch.cuda.max_memory_allocated(gpu) for gpu in gpus]
    return round(peaks[0] / max(peaks[1:]), 3)


def bytes_out(wrap):
    model = LanguageModel().cuda().eval()
    wrapper, x = wrap(model), torch.randint(2000, (16, 8), device="cuda")

    def evaluate():
        with torch.no_grad():
            for _ in range(4):
                wrapper(x)

    links = json.loads(tandem.explain(evaluate).json())["links"]
    return sum(link["bytes"] for link in links if link["source"] == "cuda:0")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--backend", choices=["local", "nccl"], default="local", help="what moves sums between GPUs")
    args = parser.parse_args()
    torch.set_num_threads(1)
    gpus = torch.cuda.device_count()
    out = {"evaluation": {"tandem": bytes_out(tandem.DataParallel), "torch": bytes_out(nn.DataParallel)}}
    out["peaks"] = {mode: peaks_of(mode, args.backend) for mode in MODES}
    steps = {"bare threads": BareThreads(gpus)} | {mode: steps_of_tandem(mode, args.backend) for mode in MODES}
    counts = {name: counts_of(step) for name, step in steps.items()}
    bare = counts.pop("bare threads")
    out["launches"] = {mode: {kind: (n[kind] - bare[kind]) / gpus for kind in ("calls", "ops", "all_calls")} for mode, n in counts.items()}
    out["waits"] = {mode: n["waits"] for mode, n in counts.items()} | {"bare threads": bare["waits"]}
    out["step_us"] = least_us(steps, args.rounds)
    print(json.dumps(out))


if __name__ == "__main__":
    main()
