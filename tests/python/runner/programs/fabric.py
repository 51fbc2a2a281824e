# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Lightning Fabric's loop: set up, backward by the fabric, clipping, a saved and loaded state."""

import pathlib
import tempfile

import lightning_fabric
import torch
import torch.nn.functional as F


def main():
    lightning_fabric.seed_everything(9)
    fabric = lightning_fabric.Fabric(accelerator="auto", devices=1)
    fabric.launch()
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 4))
    if torch.cuda.device_count() > 1:
        model = torch.nn.DataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    model, optimizer = fabric.setup(model, optimizer)
    data = torch.utils.data.TensorDataset(torch.randn(36, 1, 8, 8), torch.randint(4, (36,)))
    loader = fabric.setup_dataloaders(torch.utils.data.DataLoader(data, batch_size=12))
    for epoch in range(2):
        for i, (x, y) in enumerate(loader):
            with fabric.no_backward_sync(model, enabled=i % 3 == 0):
                loss = F.cross_entropy(model(x), y)
                fabric.backward(loss)
            if i % 3:
                fabric.clip_gradients(model, optimizer, max_norm=1.0)
                optimizer.step()
                optimizer.zero_grad()
            fabric.print(f"epoch {epoch} loss {loss.item():.6f}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "state.ckpt")
        fabric.save(path, {"model": model, "optimizer": optimizer})
        with torch.no_grad():
            for p in model.parameters():
                p.zero_()
        fabric.load(path, {"model": model, "optimizer": optimizer})
    fabric.print(f"weights {sum(p.double().abs().sum().item() for p in model.parameters()):.5f}")


if __name__ == "__main__":
    main()
