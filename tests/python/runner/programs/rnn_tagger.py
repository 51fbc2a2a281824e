# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Tags of words: a packed bidirectional LSTM, whose batches have sentences of different lengths."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class LSTMTagger(nn.Module):
    def __init__(self, words=60, tags=7):
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(words, 16, padding_idx=0), nn.LSTM(16, 12, num_layers=2, batch_first=True, bidirectional=True)
        self.hidden2tag = nn.Linear(24, tags)

    def forward(self, sentences, lengths):
        self.lstm.flatten_parameters()
        packed = nn.utils.rnn.pack_padded_sequence(self.embedding(sentences), lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=sentences.size(1))
        return F.log_softmax(self.hidden2tag(states), dim=-1)


def collate(samples):
    lengths = torch.tensor([len(words) for words, _ in samples])
    pad = lambda xs, value: nn.utils.rnn.pad_sequence(xs, batch_first=True, padding_value=value)
    return pad([words for words, _ in samples], 0), lengths, pad([tags for _, tags in samples], -100)


samples = []
for _ in range(27):
    n = int(torch.randint(2, 10, ()))
    samples.append((torch.randint(1, 60, (n,)), torch.randint(7, (n,))))
model = LSTMTagger().to(device)
if torch.cuda.device_count() > 1:
    model = nn.DataParallel(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, eps=1e-4)
for epoch in range(2):
    for sentences, lengths, tags in torch.utils.data.DataLoader(samples, batch_size=9, collate_fn=collate):
        model.zero_grad()
        scores = model(sentences.to(device), lengths)
        loss = F.nll_loss(scores.flatten(0, 1), tags.flatten().to(device), ignore_index=-100)
        loss.backward()
        optimizer.step()
        print(f"loss {loss.item():.6f}", flush=True)
