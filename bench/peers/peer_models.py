# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The benchmark models and one timed training step, for both PyTorch scripts.

mlp: 784-1024-1024-10 with ReLU. cnn: 3x32x32 input; 3x3 convolutions with padding 1 to 32, 32, pool,
64, 64, pool, 128 channels, each with batch norm and ReLU, max pooling by 2, then the mean over the
image and a linear layer to 10 classes. gpt: GPT-2's blocks without dropout, 4 layers of width 256
with 4 heads, 128 of 256 characters in a row, the head tied to the embedding. gpt2: the same with
GPT-2's 124 M parameters, 1024 tokens in a row. resnet50: He et al., 2015, on 3x224x224, the stride in
the 3x3 convolution. Layers have PyTorch's defaults (convolutions of the cnn with bias).
"""

import statistics
import time
import typing

import torch
from torch import nn
from torch.nn import functional as F

SEED = 1
DEFAULT_BATCH = {"mlp": 512, "cnn": 128, "gpt": 16, "resnet50": 32, "gpt2": 4}
INPUT_SHAPE = {"mlp": (784,), "cnn": (3, 32, 32), "resnet50": (3, 224, 224)}
CLASSES = {"mlp": 10, "cnn": 10, "resnet50": 1000}
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
LAYOUTS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}


def make_mlp():
    return nn.Sequential(
        nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)
    )


def make_cnn():
    layers = []
    channels = 3
    for width in (32, 32, "pool", 64, 64, "pool", 128):
        if width == "pool":
            layers.append(nn.MaxPool2d(2))
            continue
        layers += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
        channels = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


class Sizes(typing.NamedTuple):
    layers: int
    width: int
    heads: int
    length: int
    vocabulary: int


GPT_SIZES = {"gpt": Sizes(4, 256, 4, 128, 256), "gpt2": Sizes(12, 768, 12, 1024, 50257)}


class Block(nn.Module):
    """One projection for queries, keys and values, and PyTorch's fused attention."""

    def __init__(self, sizes):
        super().__init__()
        width, self.heads = sizes.width, sizes.heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.fc = nn.Linear(width, 4 * width)
        self.proj = nn.Linear(4 * width, width)

    def forward(self, x):
        heads = [y.unflatten(2, (self.heads, -1)).transpose(1, 2)
                 for y in self.qkv(self.norm1(x)).chunk(3, dim=2)]
        y = F.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.proj(F.gelu(self.fc(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.embed = nn.Embedding(sizes.vocabulary, sizes.width)
        self.position = nn.Embedding(sizes.length, sizes.width)
        self.blocks = nn.Sequential(*[Block(sizes) for _ in range(sizes.layers)])
        self.norm = nn.LayerNorm(sizes.width)
        self.head = nn.Linear(sizes.width, sizes.vocabulary, bias=False)
        for weight in (self.embed.weight, self.position.weight):
            nn.init.normal_(weight, std=0.02)
        self.head.weight = self.embed.weight

    def forward(self, index):
        x = self.embed(index) + self.position.weight[:index.shape[1]]
        return self.head(self.norm(self.blocks(x)))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.shortcut = nn.Identity() if inputs == outputs else nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


def make_resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for stage, (blocks, width) in enumerate(zip((3, 4, 6, 3), (64, 128, 256, 512))):
        for block in range(blocks):
            layers.append(Bottleneck(channels, width, 2 if stage > 0 and block == 0 else 1))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


def make_model(name, layout, device="cpu"):
    torch.manual_seed(SEED)
    if name in GPT_SIZES:
        model = Gpt(GPT_SIZES[name])
    else:
        model = {"mlp": make_mlp, "cnn": make_cnn, "resnet50": make_resnet50}[name]()
    return model.to(device, memory_format=LAYOUTS[layout])


def make_batch(name, rows, layout, rank=0, device="cpu"):
    """Random input and labels; the same for every step."""
    generator = torch.Generator().manual_seed(SEED + 1 + rank)
    if name in GPT_SIZES:
        sizes = GPT_SIZES[name]
        x, y = torch.randint(0, sizes.vocabulary, (2, rows, sizes.length), generator=generator)
        return x.to(device), y.to(device)
    x = torch.randn(rows, *INPUT_SHAPE[name], generator=generator)
    y = torch.randint(0, CLASSES[name], (rows,), generator=generator)
    x = x.contiguous(memory_format=LAYOUTS[layout]) if x.dim() == 4 else x
    return x.to(device), y.to(device)


def make_optimizer(name, parameters):
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=1e-2, momentum=0.9)
    return torch.optim.AdamW(parameters, lr=1e-3, fused=name == "adamw-fused")


def layouts_to_try(model, layout):
    if model not in ("cnn", "resnet50"):
        return ["contiguous"]  # no 4-D tensors
    return list(LAYOUTS) if layout == "auto" else [layout]


def time_calls(call, count):
    """Milliseconds of each of `count` calls."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return times


def time_steps(model, optimizer, x, y, warmup, steps, dtype="f32"):
    """Milliseconds of each of `steps` training steps, after `warmup` that are not counted.

    Products are of `dtype` by autocast; parameters are f32.
    """
    precision = torch.autocast(x.device.type, DTYPES[dtype], enabled=dtype != "f32")
    criterion = nn.CrossEntropyLoss()

    def step():
        with precision:
            loss = criterion(model(x).flatten(0, -2), y.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if x.is_cuda:
            torch.cuda.synchronize()

    time_calls(step, warmup)
    if x.is_cuda:
        torch.cuda.reset_peak_memory_stats()
    return time_calls(step, steps)


def summary(times):
    ordered = sorted(times)
    p90 = ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]
    return {"p50": round(statistics.median(ordered), 3), "p90": round(p90, 3)}


def best_of(by_layout):
    """The layout with the smallest median."""
    return min(by_layout, key=lambda layout: by_layout[layout]["p50"])


def add_arguments(parser):
    parser.add_argument("--model", choices=DEFAULT_BATCH, required=True)
    parser.add_argument("--batch", type=int, help="rows of a step, all processes together "
                        "(default: mlp 512, cnn 128, gpt 16, resnet50 32, gpt2 4)")
    parser.add_argument("--layout", choices=[*LAYOUTS, "auto"], default="auto",
                        help="layout of 4-D tensors; auto tries both and reports the faster one")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--optimizer", choices=["adamw", "adamw-fused", "sgd"], default="adamw",
                        help="adamw-fused is PyTorch's one-kernel variant")


def parse(parser, words=None):
    """The arguments, of the program's command line unless `words` are given."""
    args = parser.parse_args(words)
    if args.batch is None:
        args.batch = DEFAULT_BATCH[args.model]
    if min(args.batch, args.steps) < 1 or args.warmup < 0:
        parser.error("--batch and --steps must be at least 1, and --warmup at least 0")
    return args


def report(args, mode, processes, threads, by_layout):
    layout = best_of(by_layout)
    return {
        "schema_version": 1,
        "program": "pytorch " + torch.__version__,
        "mode": mode,
        "model": args.model,
        "batch": args.batch,
        "processes": processes,
        "threads": threads,
        "optimizer": args.optimizer,
        "steps": args.steps,
        "layout": layout,
        "step_ms": by_layout[layout],
        "step_ms_by_layout": by_layout,
    }
