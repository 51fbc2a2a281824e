# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Networks of torchvision's structure and names, small enough to be kept in a file."""

import torch
from torch import nn

from .layers import record


def convolution(inner, outer, kernel, stride=1, groups=1):
    return nn.Conv2d(inner, outer, kernel, stride, kernel // 2, groups=groups, bias=False)


class Block(nn.Module):
    """A block of a residual network, basic or with a bottleneck."""

    def __init__(self, inner, width, stride, bottleneck, groups, width_per_group):
        super().__init__()
        outer = 4 * width if bottleneck else width
        middle = int(width * (width_per_group / 64.0)) * groups
        self.conv1 = convolution(inner, middle, 1 if bottleneck else 3, 1 if bottleneck else stride)
        self.bn1 = nn.BatchNorm2d(middle)
        self.conv2 = convolution(middle, middle, 3, stride if bottleneck else 1, groups)
        self.bn2 = nn.BatchNorm2d(middle)
        if bottleneck:
            self.conv3 = convolution(middle, outer, 1)
            self.bn3 = nn.BatchNorm2d(outer)
        self.downsample = None
        if stride != 1 or inner != outer:
            self.downsample = nn.Sequential(convolution(inner, outer, 1, stride),
                                            nn.BatchNorm2d(outer))
        self.bottleneck = bottleneck

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        if self.bottleneck:
            y = self.bn3(self.conv3(torch.relu(y)))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, bottleneck, blocks, width, stem, classes, groups=1, width_per_group=64):
        super().__init__()
        self.conv1 = convolution(3, width, 7, 2) if stem == "imagenet" else convolution(3, width, 3)
        self.bn1 = nn.BatchNorm2d(width)
        self.pool = nn.MaxPool2d(3, 2, 1) if stem == "imagenet" else nn.Identity()
        inner = width
        for stage, count in enumerate(blocks):
            layers = []
            for i in range(count):
                stride = 2 if i == 0 and stage > 0 else 1
                layers.append(Block(inner, width << stage, stride, bottleneck, groups,
                                    width_per_group))
                inner = (width << stage) * (4 if bottleneck else 1)
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(inner, classes)

    def forward(self, x):
        y = self.pool(torch.relu(self.bn1(self.conv1(x))))
        y = self.layer4(self.layer3(self.layer2(self.layer1(y))))
        return self.fc(y.mean((2, 3)))


class Vgg16(nn.Module):
    def __init__(self, width, hidden, pooled, norm, classes):
        super().__init__()
        layers, inner = [], 3
        for count, widths in ((2, 1), (2, 2), (3, 4), (3, 8), (3, 8)):
            for _ in range(count):
                layers.append(nn.Conv2d(inner, widths * width, 3, padding=1))
                layers += [nn.BatchNorm2d(widths * width)] if norm else []
                layers.append(nn.ReLU())
                inner = widths * width
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d(pooled)
        self.classifier = nn.Sequential(
            nn.Linear(inner * pooled * pooled, hidden), nn.ReLU(), nn.Dropout(0.0),
            nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(0.0), nn.Linear(hidden, classes))

    def forward(self, x):
        return self.classifier(self.pool(self.features(x)).flatten(1))


def build(f):
    def resnet(name, x, **parameters):
        c = f.case(name)
        record(c, ResNet(**parameters), "ResNet", parameters, c.normal(*x))

    resnet("resnet18", (2, 3, 34, 37), bottleneck=False, blocks=[2, 2, 2, 2], width=1,
           stem="imagenet", classes=3)
    resnet("resnet18_cifar", (3, 3, 16, 12), bottleneck=False, blocks=[2, 2, 2, 2], width=2,
           stem="cifar", classes=3)
    resnet("bottlenecks", (3, 3, 16, 12), bottleneck=True, blocks=[1, 2, 1, 1], width=1,
           stem="cifar", classes=3)

    resnet("resnext", (3, 3, 34, 37), bottleneck=True, blocks=[1, 1, 1, 1], width=2,
           stem="imagenet", classes=3, groups=2, width_per_group=32)

    def vgg(name, x, **parameters):
        c = f.case(name)
        # Without batch norm the values would grow from layer to layer.
        scale = 1.0 if parameters["norm"] else 0.25
        record(c, Vgg16(**parameters), "Vgg16", parameters, c.normal(*x), scale=scale)

    vgg("vgg16", (2, 3, 32, 32), width=1, hidden=4, pooled=2, norm=False, classes=3)
    vgg("vgg16_norm", (2, 3, 32, 40), width=1, hidden=4, pooled=2, norm=True, classes=3)
