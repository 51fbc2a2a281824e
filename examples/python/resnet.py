# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
#
# torchvision's ResNet-18 in a plain loop; resnet_data_parallel.py is the same program on three devices. It learns to tell
# four patterns apart. f64 makes rounding small enough to see that the losses are the same.
#
# Expected output:
#   step 1: loss 1.8621
#   step 2: loss 1.6770
#   step 3: loss 0.6467
#   step 4: loss 0.4723
#   step 5: loss 0.0803
#   step 6: loss 0.0079
import torch
from torch import optim
from torch.nn import functional as F
from torchvision.models import resnet18


def main() -> None:
    torch.manual_seed(1)
    torch.set_default_dtype(torch.float64)
    model = resnet18(num_classes=4)
    optimizer = optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    patterns = torch.randn(4, 3, 32, 32)
    for step in range(6):
        labels = torch.randint(4, (10,))
        images = patterns[labels] + torch.randn(10, 3, 32, 32)
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
