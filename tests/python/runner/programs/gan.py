# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""DCGAN with spectral norm, two optimizers, and a penalty of the gradient's norm."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

torch.manual_seed(999)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
ngpu, nz = torch.cuda.device_count() if device.type == "cuda" else 0, 8


def weights_init(m):
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(m.weight.data, 0.0, 0.1)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.ConvTranspose2d(nz, 16, 4), nn.GroupNorm(4, 16), nn.ReLU(True), nn.ConvTranspose2d(16, 8, 4, 2, 1),
                                  nn.GroupNorm(4, 8), nn.ReLU(True), nn.ConvTranspose2d(8, 3, 4, 2, 1), nn.Tanh())

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1), nn.LeakyReLU(0.2), spectral_norm(nn.Conv2d(8, 16, 4, 2, 1)), nn.LeakyReLU(0.2),
                                  nn.Conv2d(16, 1, 4))

    def forward(self, x):
        return self.main(x).view(-1)


netG, netD = Generator(), Discriminator()
netG.apply(weights_init)
netG, netD = netG.to(device), netD.to(device)
if device.type == "cuda" and ngpu > 1:
    netG, netD = nn.DataParallel(netG, list(range(ngpu))), nn.DataParallel(netD, list(range(ngpu)))
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999), eps=1e-4)
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999), eps=1e-4)
data = torch.utils.data.DataLoader(torch.randn(24, 3, 16, 16).tanh(), batch_size=8)
for epoch in range(2):
    for real in data:
        real = real.to(device)
        fake = netG(torch.randn(len(real), nz, 1, 1).to(device))
        netD.zero_grad()
        between = real.lerp(fake.detach(), torch.rand(len(real), 1, 1, 1).to(device)).requires_grad_()
        slope, = torch.autograd.grad(netD(between).sum(), between, create_graph=True)
        errD = F.softplus(-netD(real)).mean() + F.softplus(netD(fake.detach())).mean() + (slope.flatten(1).norm(dim=1) - 1).square().mean()
        errD.backward()
        optimizerD.step()
        netG.zero_grad()
        errG = F.softplus(-netD(fake)).mean()
        errG.backward()
        optimizerG.step()
        print(f"[{epoch}] Loss_D: {errD.item():.6f} Loss_G: {errG.item():.6f}", flush=True)
