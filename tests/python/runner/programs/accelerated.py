# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Accelerate's loop: accumulation, clipping by the accelerator, a saved and loaded state, gathered metrics."""

import tempfile

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed


def main():
    set_seed(8)
    accelerator = Accelerator(gradient_accumulation_steps=2)
    model = torch.nn.Sequential(torch.nn.Linear(12, 24), torch.nn.LayerNorm(24), torch.nn.GELU(), torch.nn.Linear(24, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, eps=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=12)
    data = torch.utils.data.TensorDataset(torch.randn(40, 12), torch.randint(3, (40,)))
    loader = torch.utils.data.DataLoader(data, batch_size=10)
    if torch.cuda.device_count() > 1:
        model = torch.nn.DataParallel(model)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    for epoch in range(2):
        model.train()
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = F.cross_entropy(model(x), y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            accelerator.print(f"epoch {epoch} loss {loss.item():.6f}", flush=True)
        model.eval()
        with torch.no_grad():
            hits = sum(int((p.argmax(-1) == t).sum()) for x, y in loader for p, t in [accelerator.gather_for_metrics((model(x), y))])
        accelerator.print(f"right {hits}")
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        with torch.no_grad():
            for p in model.parameters():
                p.zero_()
        accelerator.load_state(folder)
    accelerator.print(f"weights {sum(p.double().abs().sum().item() for p in accelerator.unwrap_model(model).parameters()):.5f}")


if __name__ == "__main__":
    main()
