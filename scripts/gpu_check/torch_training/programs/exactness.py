# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Steps in each mode and any chunks, on four logical devices of a GPU, beside the same steps on one device."""

import sys

import torch
from telling import tell
from torch import nn
from torch.nn import functional as F

import tandem

MODES = ["server", "classic", "sharded", "ddp"]
CHUNKS = [{}, {"chunk_sizes": [7, 3, 1, 1]}, {"chunk_sizes": [12, 0, 0, 0]}, {"chunk_sizes": [0, 0, 5, 7]}, {"gpu0_bsz": 1}]
MOST = 1e-5  # relative, in f32, after all steps
STEPS, ROWS, WIDTH = 5, 12, 64


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 10)).cuda()


def batches(rows):
    generator = torch.Generator().manual_seed(1)
    return [(torch.randn(rows, WIDTH, generator=generator).cuda(), torch.randint(0, 10, (rows,), generator=generator).cuda()) for _ in range(STEPS)]


def loss_of(model, part):
    return F.cross_entropy(model(part[0]), part[1])


def trained(step_of, rows):
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    step = step_of(model, optimizer)
    for batch in batches(rows):
        step(batch)
    return [p.detach() for p in model.parameters()]


def plain(model, optimizer):
    def step(batch):
        optimizer.zero_grad()
        loss_of(model, batch).backward()
        optimizer.step()

    return step


def difference(mode, options, rows, expected):
    """The largest one of a parameter, relative to its largest element."""
    found = trained(lambda m, o: lambda batch, w=tandem.DataParallel(m, devices="cuda:0x4", mode=mode, deadline=60.0, **options): w.step(batch, loss_of, o), rows)
    return torch.stack([(a - b).abs().max() / b.abs().max() for a, b in zip(found, expected, strict=True)]).max().item()


def main():
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    whole = trained(plain, ROWS)
    few = trained(plain, 3)  # rows, of which a device has none
    worst = {}
    for mode in MODES:
        found = [difference(mode, options, ROWS, whole) for options in CHUNKS] + [difference(mode, {}, 3, few)]
        worst[mode] = torch.tensor(found).max().item()  # NaN, if one is
        tell(mode, f"{mode}: {worst[mode]:.1e} from one device at most, of {len(found)} divisions", differences=found)
    return int(not all(most <= MOST for most in worst.values()))


if __name__ == "__main__":
    sys.exit(main())
