# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What a step costs where layers are small: 10 of width 8, as bench/python/overhead.py has them for virtual devices."""

import sys

import torch
from rounds import in_turn, table
from telling import tell
from torch.nn import functional as F

import tandem

LAYERS, WIDTH, ROWS = 10, 8, 8


def parts():
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]).cuda()
    return model, torch.optim.SGD(model.parameters(), 1e-3), (torch.randn(ROWS, WIDTH, device="cuda"), torch.randint(WIDTH, (ROWS,), device="cuda"))


def loss_of(model, batch):
    return F.cross_entropy(model(batch[0]), batch[1])


def of_pytorch(wrap):
    model, optimizer, batch = parts()
    wrapped = wrap(model)

    def step():
        optimizer.zero_grad()
        loss_of(wrapped, batch).backward()
        optimizer.step()

    return step


def of_tandem(devices, mode):
    model, optimizer, batch = parts()
    wrapper = tandem.DataParallel(model, devices=devices, mode=mode, deadline=60.0)
    return lambda: wrapper.step(batch, loss_of, optimizer)


def main():
    rounds, count = (3, 3) if "--small" in sys.argv else (9, 100)
    calls = {"plain": of_pytorch(lambda model: model), "nn.DataParallel": of_pytorch(lambda model: torch.nn.DataParallel(model, [0]))}
    calls |= {f"tandem {devices} {mode}": of_tandem(devices, mode) for devices in ("cuda:0", "cuda:0x4") for mode in ("server", "sharded")}
    for call in calls.values():
        call()
    for figures in in_turn(calls, rounds, count):
        tell("step", table(figures, "plain"), milliseconds=figures)


if __name__ == "__main__":
    main()
