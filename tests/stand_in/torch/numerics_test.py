# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Models train on a GPU of the stand-in as they do on the host."""

import functools
import unittest

import torch
import torch.nn.functional as F
from control import StandInTest, calls
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(100, 32), nn.Linear(32, 10)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)

    def forward(self, x):
        return self.head(self.layer(self.embed(x)).mean(1))


class Heads(nn.Module):
    """Attention as PyTorch chooses it: fused on a GPU."""

    def __init__(self, mask=None, causal=False):
        super().__init__()
        self.parts, self.mask, self.causal = nn.Linear(16, 48), mask, causal

    def forward(self, x):
        q, k, v = self.parts(x).view(*x.shape[:2], 3, 2, 8).permute(2, 0, 3, 1, 4)
        mask = None if self.mask is None else self.mask.to(x.device)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal)


class First(nn.Module):
    """The first of a module's results."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)[0]


SGD = functools.partial(torch.optim.SGD, lr=0.1, momentum=0.9)
ADAM = functools.partial(torch.optim.AdamW, lr=1e-3)
SPARSE_ADAM = lambda p: torch.optim.SparseAdam(list(p), lr=1e-2)  # noqa: E731
CASES = {
    "mlp": (lambda: nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.LayerNorm(64), nn.Linear(64, 10)), SGD, lambda: torch.randn(16, 32)),
    "cnn": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, groups=8),
                                  nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 10)), ADAM, lambda: torch.randn(4, 3, 16, 16)),
    "fused AdamW": (lambda: nn.Linear(32, 10), functools.partial(torch.optim.AdamW, lr=1e-3, fused=True), lambda: torch.randn(16, 32)),
    "transposed": (lambda: nn.Sequential(nn.ConvTranspose2d(3, 4, 3, stride=2), nn.GroupNorm(2, 4), nn.SiLU(),
                                         nn.Upsample(scale_factor=2, mode="bilinear")), SGD, lambda: torch.randn(2, 3, 5, 5)),
    "transformer": (Encoder, SGD, lambda: torch.randint(100, (4, 12))),
    "attention": (Heads, SGD, lambda: torch.randn(3, 7, 16)),
    "causal attention": (lambda: Heads(causal=True), SGD, lambda: torch.randn(3, 7, 16)),
    "masked attention": (lambda: Heads(mask=torch.ones(7, 7).tril().bool()), SGD, lambda: torch.randn(3, 7, 16)),
    "lstm": (lambda: First(nn.LSTM(8, 16, 2, batch_first=True)), SGD, lambda: torch.randn(4, 5, 8)),
    "gru": (lambda: First(nn.GRU(8, 16, 2, bidirectional=True)), SGD, lambda: torch.randn(4, 5, 8)),
    "gru without bias": (lambda: First(nn.GRU(8, 16, bias=False)), SGD, lambda: torch.randn(4, 5, 8)),
    "rnn": (lambda: First(nn.RNN(8, 16)), SGD, lambda: torch.randn(4, 5, 8)),
    "sparse embedding": (lambda: nn.Embedding(20, 8, sparse=True), SGD, lambda: torch.randint(20, (4, 5))),
    "sparse Adam": (lambda: nn.Embedding(20, 8, sparse=True), SPARSE_ADAM, lambda: torch.randint(20, (4, 5))),
    "sparse bag": (lambda: nn.EmbeddingBag(20, 8, sparse=True, mode="sum"), functools.partial(torch.optim.SGD, lr=0.1), lambda: torch.randint(20, (4, 5))),
}


def train(model, optimizer, x, device):
    model, x = model.to(device), x.to(device)
    optimizer = optimizer(model.parameters())
    for _ in range(4):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    return [p.detach().cpu() for p in model.parameters()]


class NumericsTest(StandInTest):
    def test_training(self):
        for name, (make, optimizer, draw) in CASES.items():
            with self.subTest(name):
                torch.manual_seed(1)
                x, weights = draw(), []
                for device in ("cpu", "cuda:2"):
                    torch.manual_seed(0)
                    weights.append(train(make(), optimizer, x, device))
                for on_host, on_gpu in zip(*weights, strict=True):
                    self.assert_close(on_gpu, on_host)

    def test_fused_attention_of_16_bits(self):
        for dtype, tolerance in ((torch.float16, 2e-3), (torch.bfloat16, 2e-2)):
            x = torch.randn(2, 4, 32, 16, dtype=dtype)
            on_gpu, on_host = (F.scaled_dot_product_attention(y, y, y, is_causal=True) for y in (x.cuda(), x.float()))
            self.assert_close(on_gpu, on_host, tolerance)

    def test_products_of_16_bits_with_a_result_of_32(self):
        a, b, x = torch.randn(2, 5, 6).half(), torch.randn(2, 6, 7).half(), torch.randn(2, 5, 7).half()
        ga, gb, gx = a.cuda(), b.cuda(), x.cuda()
        self.assert_close(torch.mm(ga[0], gb[0], out_dtype=torch.float32), a[0].float() @ b[0].float())
        self.assert_close(torch.bmm(ga, gb, out_dtype=torch.float32), a.float() @ b.float())
        self.assert_close(torch.baddbmm(gx, ga, gb, out_dtype=torch.float32), x.float() + a.float() @ b.float())
        self.assert_close(torch.addmm(gx[0], ga[0], gb[0], out_dtype=torch.float32), x[0].float() + a[0].float() @ b[0].float())

    def test_attention_drops_alike_in_backward(self):
        x = torch.randn(1, 2, 64, 8, device="cuda", dtype=torch.float64, requires_grad=True)
        state = torch.cuda.get_rng_state()

        def call(y):
            torch.cuda.set_rng_state(state)
            return F.scaled_dot_product_attention(y, y, y, dropout_p=0.3)

        direction = torch.randn_like(x)
        slope, = torch.autograd.grad(call(x).sum(), x)
        step = 1e-5
        difference = (call(x + step * direction) - call(x - step * direction)).sum() / (2 * step)
        self.assert_close((slope * direction).sum(), difference, 1e-4 * abs(difference.item()) + 1e-6)

    def test_dropout_and_seeds(self):
        def draw():
            torch.cuda.manual_seed_all(7)
            return F.dropout(torch.ones(1000, device="cuda:1"), 0.5), torch.randn(5, device="cuda:1"), torch.randperm(5, device="cuda:2")

        for first, again in zip(draw(), draw(), strict=True):
            self.assertTrue(torch.equal(first, again))
        self.assertAlmostEqual(draw()[0].mean().item(), 1, delta=0.15)
        self.assertFalse(torch.equal(torch.randn(5, device="cuda:1"), torch.randn(5, device="cuda:1")))

    def test_batch_norm_of_two_gpus(self):
        """The five ops of SyncBatchNorm together are batch norm of the whole batch."""
        x, dy = torch.randn(6, 4, 5), torch.randn(6, 4, 5)
        norm, whole = nn.BatchNorm1d(4), x.clone().requires_grad_()
        y = norm(whole)
        y.backward(dy)
        parts, slopes, counts = [x[:4].cuda(), x[4:].cuda()], [dy[:4].cuda(), dy[4:].cuda()], torch.tensor([20.0, 10.0], device="cuda")
        weight, bias, mean, var = norm.weight.detach().cuda(), norm.bias.detach().cuda(), torch.zeros(4, device="cuda"), torch.ones(4, device="cuda")
        stats = [torch.batch_norm_stats(part, 1e-5) for part in parts]
        m, s = torch.batch_norm_gather_stats_with_counts(parts[0], torch.stack([a for a, _ in stats]), torch.stack([b for _, b in stats]),
                                                         mean, var, 0.1, 1e-5, counts)
        self.assert_close(torch.cat([torch.batch_norm_elemt(p, weight, bias, m, s, 1e-5) for p in parts]), y)
        self.assert_close(mean, norm.running_mean)
        self.assert_close(var, norm.running_var)
        sums = [torch.batch_norm_backward_reduce(d, p, m, s, weight, True, True, True) for d, p in zip(slopes, parts, strict=True)]
        dx = [torch.batch_norm_backward_elemt(d, p, m, s, weight, sum(r[0] for r in sums), sum(r[1] for r in sums), counts.int())
              for d, p in zip(slopes, parts, strict=True)]
        self.assert_close(torch.cat(dx), whole.grad)
        self.assert_close(sum(r[2] for r in sums), norm.weight.grad)
        self.assert_close(sum(r[3] for r in sums), norm.bias.grad)

    def test_nccl_of_all_types(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.int64, torch.uint8):
            shares = [torch.full((5,), i + 1, device=f"cuda:{i}", dtype=dtype) for i in range(4)]
            torch.cuda.nccl.all_reduce(shares)
            self.assertEqual([share.tolist() for share in shares], [[10] * 5] * 4)

    def test_data_parallel(self):
        def weights(wrap, device):
            torch.manual_seed(0)
            model = wrap(nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 10)).to(device))
            x = torch.randn(12, 32).to(device)
            return train(model, SGD, x, device)

        before = calls().get("ncclReduce", 0)
        for on_gpus, on_host in zip(weights(nn.DataParallel, "cuda"), weights(lambda model: model, "cpu"), strict=True):
            self.assert_close(on_gpus, on_host)
        self.assertGreater(calls().get("ncclReduce", 0), before)


if __name__ == "__main__":
    unittest.main()
