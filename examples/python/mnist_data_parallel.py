# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
#
# mnist.py on four devices: one line differs, beside the import, and the losses are the same.
#
#               +--> tandem:0  32 rows, replica 0 --+
#   images -----+--> tandem:1  32 rows, replica 1 --+----> log_softmax (128, 10) --> nll_loss
#   (128)       +--> tandem:2  32 rows, replica 2 --+
#               +--> tandem:3  32 rows, replica 3 --+
#        gradients, summed over the devices --> model's parameters --> Adadelta
#
# diff mnist.py mnist_data_parallel.py:
#   + import tandem
#   - model = Net()
#   + model = tandem.DataParallel(Net(), devices="cpu:4")
#
# Expected output:
#   epoch 1: loss 0.7216, test accuracy 0.86
#   epoch 2: loss 0.1331, test accuracy 0.89
#   epoch 3: loss 0.0781, test accuracy 0.90
import tandem
import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, Subset
from torchvision import datasets, transforms


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.head = nn.Linear(8 * 13 * 13, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        hidden = F.max_pool2d(F.relu(self.conv(images)), 2)
        return F.log_softmax(self.head(hidden.flatten(1)), dim=1)


def load(train: bool, rows: int) -> DataLoader[tuple[torch.Tensor, torch.Tensor]]:
    normalised = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
    images = datasets.MNIST("data", train=train, transform=normalised)
    return DataLoader(Subset(images, range(rows)), batch_size=128, shuffle=train)


def train(model: nn.Module, loader: DataLoader[tuple[torch.Tensor, torch.Tensor]], optimizer: optim.Optimizer) -> float:
    model.train()
    total = 0.0
    for images, labels in loader:
        optimizer.zero_grad()
        loss = F.nll_loss(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def test(model: nn.Module, loader: DataLoader[tuple[torch.Tensor, torch.Tensor]]) -> float:
    model.eval()
    with torch.no_grad():
        right = sum(int(model(images).argmax(1).eq(labels).sum()) for images, labels in loader)
    return right / (128 * len(loader))


def main() -> None:
    torch.manual_seed(1)
    model = tandem.DataParallel(Net(), devices="cpu:4")
    optimizer = optim.Adadelta(model.parameters(), lr=0.5)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    images, test_images = load(True, 6400), load(False, 1280)
    for epoch in range(3):
        loss = train(model, images, optimizer)
        print(f"epoch {epoch + 1}: loss {loss:.4f}, test accuracy {test(model, test_images):.2f}")
        scheduler.step()


if __name__ == "__main__":
    main()
