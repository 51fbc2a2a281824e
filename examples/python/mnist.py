# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
#
# A program of PyTorch alone: a small network learns to read the digits of MNIST. Nothing here is tandem's;
# mnist_data_parallel.py is the same program on four devices.
#
#   images (128, 1, 28, 28) --> Conv2d --> ReLU --> max pool --> Linear --> log_softmax --> nll_loss
#                                     Adadelta <-- gradients <-- backward <-------------------+
#
# It reads MNIST's four files from ./data/MNIST/raw. ../libtorch/make_mnist.py writes files of that form from the digits in
# examples/data, for those who do not have them; the output below is for these.
#
# Expected output:
#   epoch 1: loss 0.7216, test accuracy 0.86
#   epoch 2: loss 0.1331, test accuracy 0.89
#   epoch 3: loss 0.0781, test accuracy 0.90
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
    model = Net()
    optimizer = optim.Adadelta(model.parameters(), lr=0.5)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    images, test_images = load(True, 6400), load(False, 1280)
    for epoch in range(3):
        loss = train(model, images, optimizer)
        print(f"epoch {epoch + 1}: loss {loss:.4f}, test accuracy {test(model, test_images):.2f}")
        scheduler.step()


if __name__ == "__main__":
    main()
