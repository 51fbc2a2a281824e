#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What tandem's Python package costs: a step above bare threads, recording, the exchange of tensors, and the import.

Rounds are taken in turn, so that the machine's moods fall on all alike; figures are medians. Needs the built package and
PyTorch in PYTHONPATH (docs/pytorch.md).
"""

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time

import tandem
import torch
from torch.nn import functional as F

LAYERS, WIDTH, ROWS = 10, 8, 8


def make_model(device="cpu"):
    return torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]).to(device)


def make_batch(rows, device="cpu"):
    return torch.randn(rows, WIDTH).to(device), torch.randint(WIDTH, (rows,)).to(device)


def loss_of(model, batch):
    return F.cross_entropy(model(batch[0]), batch[1])


class BareThreads:
    """A module, forward, loss and backward on each of some threads, then the optimizer: nothing is exchanged or checked."""

    def __init__(self, count):
        self.models = [make_model(f"tandem:{i}") for i in range(count)]
        self.parts = [make_batch(ROWS // count, f"tandem:{i}") for i in range(count)]
        self.optimizer = torch.optim.SGD(self.models[0].parameters(), 1e-3)
        self.begin, self.end = threading.Barrier(count + 1), threading.Barrier(count + 1)
        for i in range(count):
            threading.Thread(target=self.run, args=(i,), daemon=True).start()

    def run(self, i):
        torch.set_num_threads(1)
        while True:
            self.begin.wait()
            self.models[i].zero_grad()
            loss_of(self.models[i], self.parts[i]).backward()
            self.end.wait()

    def __call__(self):
        self.begin.wait()
        self.end.wait()
        self.optimizer.step()


def steps_of_tandem(mode, count):
    model = make_model()
    wrapper = tandem.DataParallel(model, devices=f"cpu:{count}", mode=mode)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    batch = make_batch(ROWS)
    return lambda: wrapper.step(batch, loss_of, optimizer)


def median_us(calls, rounds, repeats):
    """Of each call by name, in turn."""
    times = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            begin = time.perf_counter()
            for _ in range(repeats):
                call()
            times[name].append(1e6 * (time.perf_counter() - begin) / repeats)
    return {name: round(statistics.median(values), 2) for name, values in times.items()}


def recording_cost(rounds):
    """Time of a step within tandem.explain above one without; a step of 512 rows of width 512."""
    model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)])
    wrapper = tandem.DataParallel(model, devices="cpu:2")
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    x = torch.randn(512, 512)
    spent = {"plain": [], "recorded": []}

    def step(name):
        begin = time.perf_counter()
        wrapper.step(x, lambda replica, part: replica(part).square().mean(), optimizer)
        spent[name].append(time.perf_counter() - begin)

    step("plain")
    for _ in range(rounds):
        step("plain")
        tandem.explain(lambda: step("recorded"))
    return statistics.median(spent["recorded"]) / statistics.median(spent["plain"]) - 1


def import_seconds(rounds):
    program = "import time; begin = time.perf_counter(); import tandem; print(time.perf_counter() - begin)"
    runs = [subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True) for _ in range(rounds)]
    return statistics.median(float(run.stdout) for run in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--devices", type=int, default=2, choices=(1, 2, 4, 8))
    args = parser.parse_args()
    torch.set_num_threads(1)
    tandem.configure_devices(f"cpu:{args.devices}")
    tandem.register_devices()
    calls = {"bare threads": BareThreads(args.devices)}
    calls |= {mode: steps_of_tandem(mode, args.devices) for mode in ("ddp", "server", "sharded", "classic")}
    here = torch.ones(64)
    there = tandem.from_dlpack(here)
    exchange = {"from_dlpack": lambda: tandem.from_dlpack(here), "torch.from_dlpack": lambda: torch.from_dlpack(there)}
    print(json.dumps({"step_us": median_us(calls, args.rounds, 50), "exchange_us": median_us(exchange, args.rounds, 2000),
                      "recording": round(recording_cost(args.rounds), 3), "import_s": round(import_seconds(args.rounds), 3)}))


if __name__ == "__main__":
    main()
