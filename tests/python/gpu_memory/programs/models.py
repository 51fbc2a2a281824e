# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The models that are measured, each with a step of a training: all of them name nothing of tandem."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class LanguageModel(nn.Module):
    """A head with many words: its outputs are far larger than what the rest of the model saves."""

    def __init__(self, words=2000, width=32):
        super().__init__()
        self.embed, self.head = nn.Embedding(words, width), nn.Linear(width, words)
        self.block = nn.Sequential(nn.Linear(width, 128), nn.GELU(), nn.Linear(128, width))

    def forward(self, x):
        y = self.embed(x)
        return self.head(y + self.block(y))


class Residual(nn.Module):
    def __init__(self, channels, to, stride):
        super().__init__()
        self.c1, self.n1 = nn.Conv2d(channels, to, 3, stride, 1, bias=False), nn.BatchNorm2d(to)
        self.c2, self.n2 = nn.Conv2d(to, to, 3, 1, 1, bias=False), nn.BatchNorm2d(to)
        self.short = nn.Conv2d(channels, to, 1, stride)

    def forward(self, x):
        return F.relu(self.n2(self.c2(F.relu(self.n1(self.c1(x))))) + self.short(x))


class ResNet(nn.Module):
    def __init__(self, recomputed=None):
        super().__init__()
        self.recomputed = recomputed  # None: nothing; else checkpoint's use_reentrant
        self.stem, self.fc = nn.Conv2d(3, 8, 3, 1, 1), nn.Linear(32, 10)
        self.layers = nn.Sequential(Residual(8, 16, 1), Residual(16, 32, 2))

    def forward(self, x):
        x = F.relu(self.stem(x))
        for layer in self.layers:
            x = layer(x) if self.recomputed is None else checkpoint(layer, x, use_reentrant=self.recomputed)
        return self.fc(x.mean((2, 3)))


def words(kind, parallel):
    """A step of the language model; `kind` is the optimizer."""
    model = LanguageModel().cuda()
    return _step(nn.DataParallel(model) if parallel else model, kind, lambda: torch.randint(2000, (16, 8), device="cuda"),
                 lambda x: torch.randint(2000, x.shape, device="cuda"))


def images(kind, parallel, recomputed=None, mixed=False):
    model = ResNet(recomputed).cuda()
    return _step(nn.DataParallel(model) if parallel else model, kind, lambda: torch.randn(16, 3, 16, 16, device="cuda"),
                 lambda x: torch.randint(10, x.shape[:1], device="cuda"), mixed)


class ByKeyword(nn.Module):
    """Takes large inputs by keyword, and gives them back to the allocator before it ends."""

    def __init__(self):
        super().__init__()
        self.layer, self.head = nn.Linear(256, 64), nn.Linear(64, 10)

    def forward(self, *, pixels, mask):
        return self.head(F.relu(self.layer(pixels * mask)))


def by_keyword(parallel):
    model = ByKeyword().cuda()
    model = nn.DataParallel(model) if parallel else model
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step():
        optimizer.zero_grad()
        model(pixels=torch.randn(128, 256, device="cuda"), mask=torch.ones(128, 256, device="cuda")).square().mean().backward()
        optimizer.step()

    return step


def by_closure():
    """A step whose optimizer calls forward and backward, several times."""
    model, x = nn.Sequential(nn.Linear(128, 256), nn.Tanh(), nn.Linear(256, 64)).cuda(), torch.randn(64, 128, device="cuda")
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4, history_size=4, tolerance_grad=0, tolerance_change=0)

    def closure():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss

    def step():
        optimizer.step(closure)

    return step


def attention(parallel):
    """Attention in 16 bit: its output's weight is used outside of the module that has it."""
    model = nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True).cuda()
    model = nn.DataParallel(model) if parallel else model
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(torch.randn(8, 16, 64, device="cuda")).float().square().mean()
        loss.backward()
        optimizer.step()

    return step


def _step(model, kind, inputs, labels, mixed=False):
    optimizer = kind(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda", enabled=mixed)

    def step():
        x = inputs()
        y = labels(x)
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=mixed):
            out = model(x)
            loss = F.cross_entropy(out.flatten(0, -2), y.flatten())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return step


def cases():
    """Names, and functions that make a step."""
    adam, sgd = torch.optim.AdamW, torch.optim.SGD
    return {
        "words": lambda: words(adam, False),
        "words on four": lambda: words(adam, True),
        "images": lambda: images(sgd, False),
        "images on four": lambda: images(adam, True),
        "in 16 bit": lambda: images(adam, False, mixed=True),
        "in 16 bit on four": lambda: images(adam, True, mixed=True),
        "by keyword": lambda: by_keyword(False),
        "by keyword on four": lambda: by_keyword(True),
        "by closure": by_closure,
        "attention in 16 bit": lambda: attention(False),
        "attention in 16 bit on four": lambda: attention(True),
        "recomputed": lambda: images(adam, False, recomputed=False),
        "recomputed, reentrant": lambda: images(adam, False, recomputed=True),
        "recomputed on four": lambda: images(adam, True, recomputed=False),
    }
