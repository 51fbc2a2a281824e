# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of PyTorch alone. Each takes a device and how a model is wrapped, and returns what is compared: tensors or numbers."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

STEPS = 3


def descend(model, loss, parameters=None, optimizer=None, steps=STEPS):
    """Trains by `loss(model)`. Returns the losses and the weights."""
    optimizer = optimizer or torch.optim.SGD(list(parameters or model.parameters()), lr=0.05, momentum=0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(model)
        value.backward()
        optimizer.step()
        losses.append(value.detach())
    return [*losses, *(p.detach() for p in model.parameters())]


def mnist_cnn(device, wrap):
    model = wrap(nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1352, 10)).to(device))
    x, y = torch.randn(8, 1, 28, 28).to(device), torch.randint(10, (8,)).to(device)
    return descend(model, lambda m: F.cross_entropy(m(x), y))


class Tagger(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.embed, self.rnn, self.out = nn.Embedding(50, 16), cell(16, 12, batch_first=True, bidirectional=True), nn.Linear(24, 5)

    def forward(self, words, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(words), lengths, batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True, total_length=words.size(1))
        return self.out(states)


def tag(cell, device):
    words, tags = torch.randint(50, (6, 9)).to(device), torch.randint(5, (6, 9)).to(device)
    lengths = torch.tensor([9, 3, 7, 1, 5, 9])
    return descend(Tagger(cell).to(device), lambda m: F.cross_entropy(m(words, lengths).flatten(0, 1), tags.flatten()))


def lstm_tagger(device, wrap):
    return tag(nn.LSTM, device)


def gru_tagger(device, wrap):
    return tag(nn.GRU, device)


def gan_with_penalty(device, wrap):
    """WGAN: the gradient's norm is a loss, so there is a second derivative."""
    maker, critic = wrap(nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 8)).to(device)), nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)).to(device)
    real, noise, mix = torch.randn(6, 8).to(device), torch.randn(6, 4).to(device), torch.rand(6, 1).to(device)

    def of_critic(net):
        fake = maker(noise).detach()
        between = (mix * real + (1 - mix) * fake).requires_grad_()
        slope, = torch.autograd.grad(net(between).sum(), between, create_graph=True)
        return net(fake).mean() - net(real).mean() + 10 * (slope.norm(dim=1) - 1).square().mean()

    return descend(critic, of_critic, optimizer=torch.optim.Adam(critic.parameters(), 1e-3, eps=1e-3)) + \
        descend(maker, lambda net: -critic(net(noise)).mean())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.up, self.last, self.norm = nn.ConvTranspose2d(16, 8, 2, stride=2), nn.Conv2d(16, 2, 3, padding=1), nn.BatchNorm2d(8)

    def forward(self, x):
        a = F.relu(self.norm(self.down1(x)))
        b = F.relu(self.down2(F.max_pool2d(a, 2)))
        return self.last(torch.cat([a, self.up(b)], 1))


def unet(device, wrap):
    x, y = torch.randn(4, 3, 16, 16).to(device), torch.randint(2, (4, 16, 16)).to(device)
    return descend(UNet().to(device), lambda m: F.cross_entropy(m(x), y))


def amp_with_scaler(device, wrap):
    """f16 on a GPU and on the host; the scaler sees an overflow, and leaves out that step."""
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler(device.split(":")[0], init_scale=2.0**8)
    x, scales = torch.randn(8, 16).to(device), []
    for factor in (1, 1e30, 1):
        optimizer.zero_grad()
        with torch.autocast(device.split(":")[0], dtype=torch.float16):
            loss = model(x).square().mean()
        scaler.scale(loss * factor).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    return [*scales, *(p.detach() for p in model.parameters())]


def bf16_autocast(device, wrap):
    model = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True).to(device)
    x = torch.randn(2, 6, 16).to(device)

    def loss(m):
        with torch.autocast(device.split(":")[0], dtype=torch.bfloat16):
            return m(x).float().square().mean()

    return descend(model, loss)


def checkpointing(device, wrap):
    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(16, 16), nn.Tanh()) for _ in range(4))

        def forward(self, x):
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False)
            return x

    x = torch.randn(8, 16).to(device)
    return descend(wrap(Deep().to(device)), lambda m: m(x).square().mean())


def moving_average(device, wrap):
    model = nn.Linear(8, 4).to(device)
    mean = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    x, optimizer = torch.randn(8, 8).to(device), torch.optim.AdamW(model.parameters(), 1e-2, eps=1e-3)
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        mean.update_parameters(model)
    return [p.detach() for p in mean.parameters()]


def weight_tied_language_model(device, wrap):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(40, 16), nn.Linear(16, 40, bias=False)
            self.head.weight = self.embed.weight
            self.body = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), 2, enable_nested_tensor=False)

        def forward(self, x):
            mask = nn.Transformer.generate_square_subsequent_mask(x.size(1), device=x.device)
            return self.head(self.body(self.embed(x), mask=mask, is_causal=True))

    x = torch.randint(40, (4, 10)).to(device)
    return descend(wrap(Model().to(device)), lambda m: F.cross_entropy(m(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()))


def siamese_triplets(device, wrap):
    model, parts = wrap(nn.Linear(8, 4).to(device)), torch.randn(3, 6, 8).to(device)
    return descend(model, lambda m: F.triplet_margin_loss(*(m(part) for part in parts)))


def variational_autoencoder(device, wrap):
    encode, decode = nn.Linear(8, 6).to(device), nn.Linear(3, 8).to(device)
    x, noise, both = torch.randn(6, 8).to(device), torch.randn(6, 3).to(device), nn.ModuleList([encode, decode])

    def loss(_):
        mean, log_var = encode(x).chunk(2, 1)
        again = decode(mean + noise * (log_var / 2).exp())
        return F.mse_loss(again, x) - 0.5 * (1 + log_var - mean.square() - log_var.exp()).mean()

    return descend(both, loss)


def q_learning(device, wrap):
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2)).to(device)
    target = copy.deepcopy(net)
    s, s2, r, a = torch.randn(8, 4).to(device), torch.randn(8, 4).to(device), torch.randn(8).to(device), torch.randint(2, (8, 1)).to(device)

    def loss(m):
        with torch.no_grad():
            goal = r + 0.9 * target(s2).max(1).values
        return F.smooth_l1_loss(m(s).gather(1, a).squeeze(1), goal)

    return descend(net, loss)


def matrix_factors(device, wrap):
    """Sparse gradients and their own optimizer."""
    users, items = nn.Embedding(30, 4, sparse=True).to(device), nn.Embedding(20, 4, sparse=True).to(device)
    u, i, y = torch.randint(30, (16,)).to(device), torch.randint(20, (16,)).to(device), torch.randn(16).to(device)
    both = nn.ModuleList([users, items])
    return descend(both, lambda _: F.mse_loss((users(u) * items(i)).sum(1), y), optimizer=torch.optim.SparseAdam(list(both.parameters()), 1e-2))


def accumulation_and_schedule(device, wrap):
    model = wrap(nn.Linear(8, 4).to(device))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2, eps=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=6)
    x = torch.randn(12, 8).to(device)
    for _ in range(3):
        optimizer.zero_grad()
        for part in x.chunk(3):
            (model(part).square().mean() / 3).backward()
        optimizer.step()
        schedule.step()
    return [schedule.get_last_lr()[0], *(p.detach() for p in model.parameters())]


def saved_and_loaded(device, wrap):
    import io
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)).to(device)
    x = torch.randn(6, 8).to(device)
    descend(model, lambda m: m(x).pow(3).mean())
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))
    other.load_state_dict(torch.load(file, map_location="cpu"))
    return descend(other.to(device), lambda m: m(x).pow(3).mean())


def loader_with_pinned_memory(device, wrap):
    data = torch.utils.data.TensorDataset(torch.randn(24, 8), torch.randint(3, (24,)))
    loader = torch.utils.data.DataLoader(data, batch_size=8, num_workers=2, pin_memory=device != "cpu")
    model = wrap(nn.Linear(8, 3).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True)).backward()
        optimizer.step()
    return [p.detach() for p in model.parameters()]
