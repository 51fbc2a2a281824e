# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
#
# accelerated.py on two devices: two lines are changed, and the losses are the same.
#
# diff accelerated.py accelerated_data_parallel.py:
#   + import tandem
#   - model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
#   + model = tandem.DataParallel(nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2)), devices="cpu:2")
#
# Expected output:
#   epoch 1: loss 0.6399, 132 of 200 right
#   epoch 2: loss 0.5256, 152 of 200 right
#   epoch 3: loss 0.4797, 182 of 200 right
#   epoch 4: loss 0.4683, 184 of 200 right
import tempfile

import tandem
import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def points(count: int) -> TensorDataset:
    x = torch.randn(count, 2)
    return TensorDataset(x, (x.prod(1) > 0).long())


def main() -> None:
    torch.manual_seed(1)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = tandem.DataParallel(nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2)), devices="cpu:2")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 40)
    train, test = DataLoader(points(320), batch_size=16), DataLoader(points(200), batch_size=50)
    model, optimizer, train, test, schedule = accelerator.prepare(model, optimizer, train, test, schedule)
    for epoch in range(4):
        model.train()
        for x, y in train:
            with accelerator.accumulate(model):
                loss = F.cross_entropy(model(x), y)
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            right = sum(int((p == t).sum()) for x, y in test for p, t in [accelerator.gather_for_metrics((model(x).argmax(1), y))])
        accelerator.print(f"epoch {epoch + 1}: loss {loss.item():.4f}, {right} of 200 right")
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        accelerator.load_state(folder)


if __name__ == "__main__":
    main()
