# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Two towers as in CLIP: all embeddings of a batch are gathered for one matrix of similarities, whose temperature is learned."""

import torch
import torch.nn.functional as F
from torch import nn


class CLIP(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.visual = nn.Sequential(nn.Conv2d(3, 16, 4, 4), nn.ReLU(), nn.Flatten(), nn.Linear(256, width))
        self.token_embedding = nn.Embedding(50, width)
        self.transformer = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True, norm_first=True), 1,
                                                 enable_nested_tensor=False)
        self.logit_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, image, text):
        mask = torch.triu(torch.full((text.shape[1], text.shape[1]), float("-inf"), device=text.device), 1)
        words = self.transformer(self.token_embedding(text), mask=mask)
        last = words[torch.arange(len(text), device=text.device), text.argmax(-1)]
        return F.normalize(self.visual(image), dim=-1), F.normalize(last, dim=-1), self.logit_scale.exp().expand(len(text))


def main():
    torch.manual_seed(11)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = CLIP().to(device)
    if torch.cuda.device_count() > 1:
        model = nn.DataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-4)
    for step in range(4):
        images, texts = torch.randn(37, 3, 16, 16).to(device), torch.randint(50, (37, 8)).to(device)
        image_features, text_features, scale = model(images, texts)
        logits = scale[0] * image_features @ text_features.t()
        labels = torch.arange(len(logits), device=device)
        loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.6f} temperature {scale[0].item():.6f}", flush=True)


if __name__ == "__main__":
    main()
