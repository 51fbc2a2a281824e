# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A small net in f32 under torch.autocast("cpu", torch.bfloat16), forward and backward.

`in.x` and `in.labels` go in, `state.<name>` are the parameters, `out.<stage>` what each stage gives and `out.loss` the
loss, `grad.<name>` the gradients: all stored in f32. `types` names the type of each stage.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.LayerNorm(8)
        self.fc = nn.Linear(8, 32)
        self.proj = nn.Linear(32, 8)
        self.head = nn.Linear(8, 5)

    def forward(self, x, approximate):
        stages = {}

        def stage(name, y):
            stages[name] = y
            return y

        h = stage("conv", self.conv(x)).flatten(2).transpose(1, 2)  # (N, pixels, 8)
        h = stage("norm", self.norm(h))
        h = h + stage("hidden", self.proj(stage("gelu", F.gelu(self.fc(h), approximate=approximate))))
        scores = stage("scores", torch.matmul(h, h.transpose(1, 2)))
        mixed = stage("mixed", torch.matmul(stage("softmax", torch.softmax(scores / 8, -1)), h))
        return stage("logits", self.head(mixed.mean(1))), stages


def build(family):
    for name, approximate in (("exact", "none"), ("tanh", "tanh")):
        case = family.case(name)
        net = Net()
        with torch.no_grad():
            for key, parameter in net.named_parameters():
                scale = 0.25 if parameter.dim() > 1 else 0.5
                parameter.copy_(case.normal(*parameter.shape).to(torch.float32) * scale)
                case.put(f"state.{key}", parameter)
        x = case.normal(4, 3, 4, 4).to(torch.float32).requires_grad_()
        labels = case.integers(0, 5, 4)
        case.put("in.x", x)
        case.put("in.labels", labels)
        with torch.autocast("cpu", torch.bfloat16):
            logits, stages = net(x, approximate)
            stages["loss"] = F.cross_entropy(logits, labels)
        stages["loss"].backward()
        for key, y in stages.items():
            case.put(f"out.{key}", y.to(torch.float32))
        case.put("grad.x", x.grad)
        for key, parameter in net.named_parameters():
            case.put(f"grad.{key}", parameter.grad)
        case.describe("Net", approximate=approximate, inputs=["x", "labels"], strided={},
                      types={key: str(y.dtype).split(".")[1] for key, y in stages.items()})
