# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Segmentation: a U-Net with batch norm and checkpointed blocks, outputs in a dict, an ignored class, pinned loading, a saved state."""

import io

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


def double_conv(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
                         nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.inc, self.down1, self.down2 = double_conv(3, 8), double_conv(8, 16), double_conv(16, 32)
        self.up1, self.conv1 = nn.ConvTranspose2d(32, 16, 2, 2), double_conv(32, 16)
        self.up2, self.conv2 = nn.ConvTranspose2d(16, 8, 2, 2), double_conv(16, 8)
        self.out, self.aux = nn.Conv2d(8, classes, 1), nn.Conv2d(32, classes, 1)

    def forward(self, x):
        a = self.inc(x)
        b = self.down1(F.max_pool2d(a, 2))
        c = checkpoint(self.down2, F.max_pool2d(b, 2), use_reentrant=False)
        y = self.conv1(torch.cat([b, self.up1(c)], 1))
        y = self.conv2(torch.cat([a, self.up2(y)], 1))
        return {"out": self.out(y), "aux": F.interpolate(self.aux(c), x.shape[-2:], mode="bilinear", align_corners=False)}


def criterion(outputs, target):
    losses = {name: F.cross_entropy(x, target, ignore_index=255) for name, x in outputs.items()}
    return losses["out"] + 0.5 * losses["aux"]


def main():
    torch.manual_seed(7)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = UNet().to(memory_format=torch.channels_last)
    if torch.cuda.device_count() > 1:
        model = nn.DataParallel(model)
    model.to(device)
    masks = torch.randint(3, (20, 16, 16))
    masks[:, 0] = 255
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(20, 3, 16, 16), masks), batch_size=10)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, momentum=0.9, eps=1e-3)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "min", patience=0)
    for epoch in range(2):
        model.train()
        for image, mask in loader:
            image, mask = image.to(device, memory_format=torch.channels_last, non_blocking=True), mask.to(device, non_blocking=True)
            loss = criterion(model(image), mask)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)
            optimizer.step()
            print(f"epoch {epoch} loss {loss.item():.5f}", flush=True)
        model.eval()
        with torch.no_grad():
            score = sum(criterion(model(image.to(device)), mask.to(device)).item() for image, mask in loader)
        schedule.step(score)
        print(f"validation {score:.5f}")
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    state = torch.load(file, map_location="cpu")
    print(f"saved {sum(x.double().abs().sum().item() for x in state.values() if x.is_floating_point()):.4f}")


if __name__ == "__main__":
    main()
