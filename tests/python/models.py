# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Models and batches for the tests of the Python package, and one device to compare with."""

import copy

import torch
from torch import nn
from torch.nn import functional as F


class Mlp(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))


class Cnn(nn.Module):
    """With batch norm, whose statistics are those of the whole batch."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4 * 36, 3)

    def forward(self, x):
        return self.head(F.relu(self.norm(self.conv(x))).flatten(1))


class Gpt(nn.Module):
    """One block of a transformer; the head is the table of its words."""

    def __init__(self, words=11, width=8):
        super().__init__()
        self.table = nn.Embedding(words, width)
        self.block = nn.TransformerEncoderLayer(width, 2, 16, dropout=0.0, batch_first=True)

    def forward(self, words):
        return F.linear(self.block(self.table(words)), self.table.weight)


def double(make):
    """A model in f64, and its twin for one device."""
    torch.manual_seed(0)
    model = make().double()
    return model, copy.deepcopy(model)


def batch_of(model, rows, seed):
    """Inputs and labels."""
    generator = torch.Generator().manual_seed(seed)
    if isinstance(model, Gpt):
        words = torch.randint(11, (rows, 6), generator=generator)
        return words[:, :-1], words[:, 1:]
    shape = (rows, 1, 8, 8) if isinstance(model, Cnn) else (rows, 6)
    x = torch.randn(shape, generator=generator, dtype=torch.float64)
    return x, torch.randint(3, (rows,), generator=generator)


def loss_of(outputs, labels):
    return F.cross_entropy(outputs.flatten(0, -2), labels.flatten())


def mean_loss(replica, part):
    x, y = part
    return loss_of(replica(x), y)


def train_alone(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = loss_of(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def difference(a, b):
    """The largest difference of two models' states."""
    return max((x.cpu() - y.cpu()).abs().max().item() for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))
