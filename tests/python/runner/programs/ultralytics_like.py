# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A detector of boxes on a grid: parameter groups, warm-up, gradient accumulation, a moving average, attributes behind the wrapper."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn


def conv(c1, c2, k=3, s=1):
    return nn.Sequential(nn.Conv2d(c1, c2, k, s, k // 2, bias=False), nn.GroupNorm(4, c2), nn.SiLU())


class C2f(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.cv1, self.cv2, self.m = conv(c, c, 1), conv(3 * c // 2, c, 1), conv(c // 2, c // 2)

    def forward(self, x):
        a, b = self.cv1(x).chunk(2, 1)
        return self.cv2(torch.cat([a, b, self.m(b)], 1))


class Detect(nn.Module):
    stride = torch.tensor([4.0, 8.0])

    def __init__(self, nc, channels):
        super().__init__()
        self.nc, self.no = nc, nc + 4
        self.heads = nn.ModuleList(nn.Conv2d(c, self.no, 1) for c in channels)

    def forward(self, xs):
        return [head(x) for head, x in zip(self.heads, xs)]


class DetectionModel(nn.Module):
    def __init__(self, nc=3):
        super().__init__()
        self.yaml, self.names = {"nc": nc}, [f"class{i}" for i in range(nc)]
        self.stem, self.p2, self.p3 = conv(3, 8, 3, 2), nn.Sequential(conv(8, 16, 3, 2), C2f(16)), nn.Sequential(conv(16, 32, 3, 2), C2f(32))
        self.detect = Detect(nc, (16, 32))

    def forward(self, x):
        p2 = self.p2(self.stem(x))
        return self.detect([p2, self.p3(p2)])


class ModelEMA:
    def __init__(self, model, decay=0.9, tau=5):
        self.ema, self.updates = copy.deepcopy(de_parallel(model)).eval(), 0
        self.decay = lambda x: decay * (1 - math.exp(-x / tau))

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        d, values = self.decay(self.updates), de_parallel(model).state_dict()
        for name, v in self.ema.state_dict().items():
            if v.dtype.is_floating_point:
                v.mul_(d).add_(values[name].detach(), alpha=1 - d)


def is_parallel(model):
    return isinstance(model, (nn.parallel.DataParallel, nn.parallel.DistributedDataParallel))


def de_parallel(model):
    return model.module if is_parallel(model) else model


def compute_loss(predictions, targets, model):
    """Targets: (image, class, x, y, w, h) a row."""
    detect = de_parallel(model).detect
    loss = torch.zeros(1, device=targets.device)
    for p, stride in zip(predictions, detect.stride):
        b, cls = targets[:, 0].long(), targets[:, 1].long()
        gx, gy = (targets[:, 2:4].t() / stride).long()
        chosen = p[b, :, gy, gx]
        box = chosen[:, :4].sigmoid() * 32
        loss += 0.05 * F.smooth_l1_loss(box, targets[:, 2:6]) + F.cross_entropy(chosen[:, 4:], cls) + 0.1 * F.softplus(p[:, 4:]).mean()
    return loss * p.shape[0]


def main():
    torch.manual_seed(0)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    model = DetectionModel().to(device)
    groups = [], [], []
    for module in model.modules():
        for name, p in module.named_parameters(recurse=False):
            groups[2 if name == "bias" else 1 if isinstance(module, nn.GroupNorm) else 0].append(p)
    optimizer = torch.optim.SGD(groups[2], lr=0.01, momentum=0.9, nesterov=True)
    optimizer.add_param_group({"params": groups[0], "weight_decay": 5e-4})
    optimizer.add_param_group({"params": groups[1]})
    ema = ModelEMA(model)
    if device.type != "cpu" and torch.cuda.device_count() > 1:
        model = nn.DataParallel(model)
    scaler, nw, accumulate = torch.amp.GradScaler(device.type, init_scale=2.0**8), 3, 2
    optimizer.zero_grad()
    for ni in range(6):
        imgs = torch.rand(8, 3, 32, 32)
        targets = torch.cat([torch.arange(8.0)[:, None], torch.randint(3, (8, 1)).float(), torch.rand(8, 4) * 31], 1)
        if ni < nw:
            for j, x in enumerate(optimizer.param_groups):
                x["lr"] = 0.01 * ((ni + 1) / nw if j else 1.5 - 0.5 * ni / nw)
        loss = compute_loss(model(imgs.to(device, non_blocking=True)), targets.to(device), model)
        scaler.scale(loss).backward()
        if (ni + 1) % accumulate == 0:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), max_norm=10.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            ema.update(model)
        print(f"{ni}: loss {loss.item():.6f}", flush=True)
    print(f"{de_parallel(model).names} ema {sum(p.double().abs().sum().item() for p in ema.ema.parameters()):.6f}")


if __name__ == "__main__":
    main()
