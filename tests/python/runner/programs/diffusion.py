# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A denoising model: times are embedded, noise is predicted; samples are drawn by the moving average at the end."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class ResBlock(nn.Module):
    def __init__(self, cin, cout, emb):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(4, cin), nn.Conv2d(cin, cout, 3, padding=1)
        self.emb, self.norm2, self.conv2 = nn.Linear(emb, 2 * cout), nn.GroupNorm(4, cout), nn.Conv2d(cout, cout, 3, padding=1)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, t):
        h = self.conv1(F.silu(self.norm1(x)))
        scale, shift = self.emb(F.silu(t))[:, :, None, None].chunk(2, 1)
        return self.skip(x) + self.conv2(F.silu(self.norm2(h) * (1 + scale) + shift))


class UNet(nn.Module):
    def __init__(self, c=8, emb=16):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(emb, emb), nn.SiLU(), nn.Linear(emb, emb))
        self.register_buffer("freqs", torch.exp(-math.log(1e4) * torch.arange(emb // 2) / (emb // 2)))
        self.first, self.a, self.b = nn.Conv2d(3, c, 3, padding=1), ResBlock(c, c, emb), ResBlock(c, 2 * c, emb)
        self.attention, self.up, self.last = nn.MultiheadAttention(2 * c, 2, batch_first=True), ResBlock(3 * c, c, emb), nn.Conv2d(c, 3, 3, padding=1)

    def forward(self, x, t):
        angles = t[:, None].float() * self.freqs
        t = self.time(torch.cat([angles.sin(), angles.cos()], 1))
        a = self.a(self.first(x), t)
        b = self.b(F.avg_pool2d(a, 2), t)
        tokens = b.flatten(2).transpose(1, 2)
        b = b + self.attention(tokens, tokens, tokens, need_weights=False)[0].transpose(1, 2).view_as(b)
        return self.last(self.up(torch.cat([a, F.interpolate(b, scale_factor=2)], 1), t))


def main():
    torch.manual_seed(5)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = UNet().to(device)
    ema = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    net = nn.DataParallel(model) if torch.cuda.device_count() > 1 else model
    alphas = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 100), 0).to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, eps=1e-4)
    for step in range(4):
        x, noise, t = torch.randn(10, 3, 8, 8).tanh().to(device), torch.randn(10, 3, 8, 8).to(device), torch.randint(100, (10,)).to(device)
        a = alphas[t][:, None, None, None]
        loss = F.mse_loss(net(a.sqrt() * x + (1 - a).sqrt() * noise, t), noise)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        ema.update_parameters(model)
        print(f"step {step} loss {loss.item():.6f}", flush=True)
    with torch.no_grad():
        x = torch.randn(3, 3, 8, 8).to(device)
        for t in reversed(range(0, 100, 25)):
            a = alphas[t]
            x = (x - (1 - a).sqrt() * ema(x, torch.full((3,), t, device=device))) / a.sqrt().clamp(min=0.5)
    print(f"sample {x.abs().mean().item():.5f}")


if __name__ == "__main__":
    main()
