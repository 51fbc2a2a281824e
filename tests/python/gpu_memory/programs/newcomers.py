# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Programs as people write them, which know nothing of tandem.

usage: newcomers.py compiled | left | two
"""

import sys

import torch
from torch import nn

ROWS, WIDTH = 256, 512


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.head = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.head(torch.relu(self.layer(x)))


class Scaled(torch.autograd.Function):
    """Keeps a tensor beside those that it saves: it lives as long as the graph, and not up to backward alone."""

    @staticmethod
    def forward(ctx, x):
        ctx.ones = torch.ones_like(x)
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.ones


def compiled():
    """All of it by torch.compile, without graph breaks."""
    model = torch.compile(Net().cuda(), backend="eager", fullgraph=True)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(4):
        loss = model(torch.ones(ROWS, WIDTH, device="cuda")).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())


def left():
    """The graph of a step is there until the next one has another; the copies have it, and are fullest in forward."""
    model = nn.DataParallel(nn.Sequential(nn.Linear(WIDTH, WIDTH), type("Scale", (nn.Module,), {"forward": lambda own, x: Scaled.apply(x)})()).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(4):
        y = model(torch.ones(4 * WIDTH, WIDTH, device="cuda"))
        optimizer.zero_grad()
        y.mean().backward()
        optimizer.step()


def two():
    """Two models and two optimizers, each on a GPU of its own."""
    makes, judges = nn.Linear(WIDTH, WIDTH).to("cuda:0"), nn.Linear(WIDTH, WIDTH).to("cuda:1")
    first, second = torch.optim.Adam(makes.parameters()), torch.optim.RMSprop(judges.parameters())
    for _ in range(4):
        made = makes(torch.ones(ROWS, WIDTH, device="cuda:0")).to("cuda:1")
        second.zero_grad()
        judges(made.detach()).mean().backward()
        second.step()
        first.zero_grad()
        (-judges(made).mean()).backward()
        first.step()


if __name__ == "__main__":
    {"compiled": compiled, "left": left, "two": two}[sys.argv[1]]()
