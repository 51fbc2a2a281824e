# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Detection with lists: images of one batch, targets of different lengths in the criterion, auxiliary outputs, matching by cost."""

import torch
import torch.nn.functional as F
from torch import nn


class DETR(nn.Module):
    def __init__(self, classes=4, queries=6, dim=16):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, dim, 4, 4), nn.ReLU(), nn.Conv2d(dim, dim, 2, 2))
        self.transformer = nn.TransformerDecoder(nn.TransformerDecoderLayer(dim, 2, 32, dropout=0.0, batch_first=True), 2)
        self.query_embed, self.class_embed, self.bbox_embed = nn.Embedding(queries, dim), nn.Linear(dim, classes + 1), nn.Linear(dim, 4)

    def forward(self, images, mask):
        features = self.backbone(images).flatten(2).transpose(1, 2)
        hidden = self.query_embed.weight[None].expand(len(images), -1, -1)
        outputs = []
        for layer in self.transformer.layers:
            hidden = layer(hidden, features, memory_key_padding_mask=mask)
            outputs.append({"pred_logits": self.class_embed(hidden), "pred_boxes": self.bbox_embed(hidden).sigmoid()})
        return {**outputs[-1], "aux_outputs": outputs[:-1]}


@torch.no_grad()
def match(boxes, wanted):
    """Queries for the boxes, the nearest one first."""
    cost, pairs = torch.cdist(boxes, wanted, p=1), []
    for j in range(len(wanted)):
        i = int(cost[:, j].argmin())
        pairs.append(i)
        cost[i] = 1e9
    return pairs


def criterion(outputs, targets, classes=4):
    loss = 0
    for layer in [outputs, *outputs["aux_outputs"]]:
        for logits, boxes, target in zip(layer["pred_logits"], layer["pred_boxes"], targets):
            pairs = match(boxes, target["boxes"])
            labels = torch.full((len(logits),), classes, device=logits.device)
            labels[pairs] = target["labels"]
            loss = loss + F.cross_entropy(logits, labels) + 5 * F.l1_loss(boxes[pairs], target["boxes"])
    return loss / len(targets)


def main():
    torch.manual_seed(2)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = DETR().to(device)
    if torch.cuda.device_count() > 1:
        model = nn.DataParallel(model)
    slow = [p for name, p in model.named_parameters() if "backbone" in name]
    fast = [p for name, p in model.named_parameters() if "backbone" not in name]
    optimizer = torch.optim.AdamW([{"params": fast}, {"params": slow, "lr": 1e-4}], lr=1e-3, eps=1e-4)
    for step in range(3):
        images, mask = torch.randn(7, 3, 32, 32).to(device), torch.zeros(7, 16, dtype=torch.bool).to(device)
        mask[:, 12:] = True
        targets = [{"labels": torch.randint(4, (n,)).to(device), "boxes": torch.rand(n, 4).to(device)} for n in (1, 3, 2, 2, 4, 1, 3)]
        loss = criterion(model(images, mask), targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f}", flush=True)


if __name__ == "__main__":
    main()
