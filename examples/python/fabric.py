# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
#
# A loop of Lightning Fabric; fabric_data_parallel.py is the same program on two devices. The model learns whether the signs
# of two numbers are equal.
#
# Expected output:
#   epoch 1: loss 0.5662
#   epoch 2: loss 0.1618
#   epoch 3: loss 0.1515
#   epoch 4: loss 0.1968
import torch
import torch.nn.functional as F
from lightning_fabric import Fabric, seed_everything
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    seed_everything(1, verbose=False)
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9))
    x = torch.randn(320, 2)
    loader = fabric.setup_dataloaders(DataLoader(TensorDataset(x, (x.prod(1) > 0).long()), batch_size=32))
    for epoch in range(4):
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            fabric.backward(loss)
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()
        fabric.print(f"epoch {epoch + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
