# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A vision transformer with mixed images, smoothed labels, gradient clipping, a cosine schedule, a moving average and evaluation."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("-b", "--batch-size", type=int, default=11)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--mixup", type=float, default=0.8)
parser.add_argument("--clip-grad", type=float, default=1.0)
args = parser.parse_args()


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2, self.heads = nn.LayerNorm(dim), nn.LayerNorm(dim), heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.gamma = nn.Parameter(0.1 * torch.ones(dim))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        x = x + self.gamma * self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, c))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    def __init__(self, size=16, patch=4, dim=32, depth=2, num_classes=5):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, patch, patch)
        self.cls_token, self.pos_embed = nn.Parameter(torch.zeros(1, 1, dim)), nn.Parameter(0.02 * torch.randn(1, (size // patch) ** 2 + 1, dim))
        self.blocks, self.norm, self.head = nn.Sequential(*(Block(dim, 4) for _ in range(depth))), nn.LayerNorm(dim), nn.Linear(dim, num_classes)

    def no_weight_decay(self):
        return {"pos_embed", "cls_token"}

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], 1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


def mixup(x, y, classes, lam, smoothing=0.1):
    off, on = smoothing / classes, 1 - smoothing + smoothing / classes
    hot = lambda labels: torch.full((len(labels), classes), off, device=x.device).scatter_(1, labels[:, None], on)
    return lam * x + (1 - lam) * x.flip(0), lam * hot(y) + (1 - lam) * hot(y.flip(0))


def main():
    torch.manual_seed(42)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = VisionTransformer()
    skip = model.no_weight_decay()
    decay = [p for name, p in model.named_parameters() if p.ndim > 1 and name not in skip]
    rest = [p for name, p in model.named_parameters() if p.ndim <= 1 or name in skip]
    model.to(device)
    optimizer = torch.optim.AdamW([{"params": rest, "weight_decay": 0.0}, {"params": decay}], lr=args.lr, eps=1e-5, weight_decay=0.05)
    ema = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    if torch.cuda.device_count() > 1:
        model = torch.nn.DataParallel(model, device_ids=list(range(torch.cuda.device_count()))).cuda()
    data = torch.utils.data.TensorDataset(torch.randn(33, 3, 16, 16), torch.randint(5, (33,)))
    loader = torch.utils.data.DataLoader(data, args.batch_size, shuffle=True, generator=torch.Generator().manual_seed(1), pin_memory=False)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(loader))
    for epoch in range(args.epochs):
        model.train()
        for x, y in loader:
            x, target = mixup(x.to(device), y.to(device), 5, float(torch.distributions.Beta(args.mixup, args.mixup).sample()))
            loss = torch.sum(-target * F.log_softmax(model(x), dim=-1), dim=-1).mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip_grad)
            optimizer.step()
            schedule.step()
            ema.update_parameters(model.module if hasattr(model, "module") else model)
            print(f"epoch {epoch} loss {loss.item():.6f}", flush=True)
        model.eval()
        with torch.inference_mode():
            losses = [F.cross_entropy(m(x.to(device)), y.to(device)).item() for m in (model, ema) for x, y in loader]
        print(f"evaluation {sum(losses) / len(losses):.6f}")


main()
