# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A training of PyTorch on one device, or by tandem on several: what a case of the fuzzer of steps is made of.

Programs that the fuzzer prints begin with this file, which needs torch and tandem alone.
"""

import contextlib
import copy
import dataclasses
import io
import random

import tandem
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

DEVICES = "cpu"  # of wrappers: virtual ones; "cuda": PyTorch's GPUs
MODES = ("classic", "server", "sharded", "ddp")
KINDS = {
    "sgd": (torch.optim.SGD, {"lr": 0.1}),
    "momentum": (torch.optim.SGD, {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01}),
    "adamw": (torch.optim.AdamW, {"lr": 0.01, "eps": 1e-3}),
    "nadam": (torch.optim.NAdam, {"lr": 0.01, "eps": 1e-3}),
    "rmsprop": (torch.optim.RMSprop, {"lr": 0.01, "eps": 1e-2, "momentum": 0.5}),
    "adagrad": (torch.optim.Adagrad, {"lr": 0.01, "initial_accumulator_value": 0.1}),
}


class Injected(Exception):
    """Thrown by a part of a net that a case lets fail."""


class Changed(Exception):
    """A statement that failed has changed something."""


@dataclasses.dataclass
class Setup:
    """What a training begins with."""

    net: str = "linear:4:3"  # layers, see Net
    optimizer: str = "sgd"
    shared: bool = False  # tandem.Optimizer, in place of PyTorch's own
    loss: str = "sum"  # mean, sum, weighted
    scaler: bool = False
    averages: bool = False
    devices: int = 2
    chunks: tuple = ()
    accumulate: int = 1
    drift: bool = False  # check_drift_every
    nccl: bool = False  # backend of sums, on GPUs
    norms: str = "synchronised"  # batch_norm; "per_replica" is compared between modes
    seed: int = 1


class Net(nn.Module):
    """Layers in their order: "linear:in:out", "plain:in:out" without bias, "again:k" with the tensors of layer k, "norm:n", "layernorm:n",
    "tanh", "relu", "extra:n" in training alone, "spare:n" never used, "count" with a buffer that counts forwards in training, "cache" with one
    that counts all and adds their number. A star: computed again in backward."""

    until_failure = 0  # of the parts that are called next

    def __init__(self, layers):
        super().__init__()
        self.parts, self.kinds, self.stars = nn.ModuleList(), [], []
        for word in layers.split():
            self.stars.append(word.endswith("*"))
            kind, *numbers = word.rstrip("*").split(":")
            self.kinds.append(kind)
            self.parts.append(self.make(kind, [int(n) for n in numbers]))

    def make(self, kind, n):
        if kind in ("linear", "plain"):
            return nn.Linear(n[0], n[1], bias=kind == "linear")
        if kind in ("extra", "spare"):
            return nn.Linear(n[0], n[0])
        if kind == "again":
            layer = nn.Linear(1, 1)
            layer.weight, layer.bias = self.parts[n[0]].weight, self.parts[n[0]].bias
            return layer
        if kind == "norm":
            return nn.BatchNorm1d(n[0])
        if kind == "layernorm":
            return nn.LayerNorm(n[0])
        if kind in ("count", "cache"):
            part = nn.Identity()
            part.register_buffer("count", torch.zeros(()))
            return part
        return nn.Tanh() if kind == "tanh" else nn.ReLU()

    def apply_part(self, i, x):
        Net.until_failure -= 1
        if Net.until_failure == 0:
            raise Injected
        if self.kinds[i] == "spare" or self.kinds[i] == "extra" and not self.training:
            return x
        if self.kinds[i] == "extra":
            return x + self.parts[i](x)
        if self.kinds[i] == "count" and self.training:
            self.parts[i].count += 1
        if self.kinds[i] == "cache":
            self.parts[i].count += 1
            return x + 0.01 * self.parts[i].count
        return self.parts[i](x)

    def forward(self, x):
        for i in range(len(self.parts)):
            if self.stars[i] and torch.is_grad_enabled() and self.kinds[i] not in ("count", "cache"):
                x = checkpoint(self.apply_part, i, x, use_reentrant=False)
            else:
                x = self.apply_part(i, x)
        return x


class Side:
    """A training. Without a mode it is on PyTorch's host, without a wrapper."""

    def __init__(self, setup, mode=None):
        torch.manual_seed(setup.seed)
        self.setup, self.mode = setup, mode
        self.home = torch.device("cuda:0" if mode is not None and DEVICES == "cuda" else "cpu")
        self.net = Net(setup.net).to(self.home)
        self.names = [name for name, _ in self.net.named_parameters()]
        self.model = self.net if mode is None else self.wrap()
        self.optimizer = self.make_optimizer()
        self.scaler = torch.amp.GradScaler(self.home.type, init_scale=1024.0, growth_interval=2) if setup.scaler else None
        self.averages = copy.deepcopy(self.net) if setup.averages else None
        self.hooks, self.told = {}, {}

    def wrap(self):
        s = self.setup
        names = f"cpu:{s.devices}" if DEVICES == "cpu" else ",".join(f"cuda:{i}" for i in range(s.devices))
        options = {"devices": names, "mode": self.mode, "accumulate": s.accumulate, "unused_gradients": "none"}
        options |= {"check_drift_every": int(s.drift), "batch_norm": s.norms}
        options |= {"backend": "nccl"} if s.nccl and DEVICES == "cuda" else {}
        if len(s.chunks) == 1:
            options["gpu0_bsz"] = s.chunks[0]
        elif s.chunks:
            options["chunks"] = list(s.chunks)
        return tandem.DataParallel(self.net, **options)

    def make_optimizer(self):
        kind, options = KINDS[self.setup.optimizer]
        if self.setup.shared and self.mode is not None:
            return tandem.Optimizer(self.net.parameters(), kind, **options)
        return kind(self.net.parameters(), **options)

    def parameter(self, i):
        parameters = list(self.net.parameters())
        return parameters[i % len(parameters)]

    def batch(self, rows, seed):
        """The same values on all sides."""
        if rows < 1:
            raise ValueError("a batch without rows has no mean loss")
        source = random.Random(seed)
        sizes = [word.rstrip("*").split(":") for word in self.setup.net.split()]
        sizes = [(int(w[1]), int(w[2])) for w in sizes if w[0] in ("linear", "plain")]
        x = torch.tensor([[source.uniform(-1, 1) for _ in range(sizes[0][0])] for _ in range(rows)])
        target = torch.tensor([[source.uniform(-1, 1) for _ in range(sizes[-1][1])] for _ in range(rows)])
        weight = torch.tensor([1.0] + [max(0.0, source.uniform(-0.5, 2)) for _ in range(rows - 1)])
        return x.to(self.home), target.to(self.home), weight.to(self.home)

    def weighted_loss(self, y, target, weight):
        squares = F.mse_loss(y, target, reduction="none").sum(1)
        if self.setup.loss == "weighted":
            return (squares * weight).sum(), weight.sum()
        return squares.sum(), torch.tensor(float(len(target)))

    def loss(self, model, part):
        x, target, weight = part
        total, count = self.weighted_loss(model(x), target, weight)
        return total / len(x) if self.setup.loss == "mean" else (total, count)

    def call_loss(self, rows, seed):
        x, target, weight = self.batch(rows, seed)
        total, count = self.weighted_loss(self.model(x), target, weight)
        return total / count

    def finish(self, loss):
        """The backward and the update, as programs write them."""
        if self.scaler is None:
            loss.backward()
            self.optimizer.step()
            return
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def jitter(self, most):
        """Changes parameters by random parts of themselves, at most `most`."""
        source = random.Random(1)
        with torch.no_grad():
            for p in self.net.parameters():
                p.mul_(torch.tensor([source.uniform(1 - most, 1 + most) for _ in range(p.numel())]).reshape(p.shape).to(p.device))

    # Statements.

    def step(self, rows, seed, updates):
        batch = self.batch(rows, seed)
        if self.mode is not None and not (updates and self.scaler):
            result = self.model.step(batch, self.loss, self.optimizer if updates else None)
            self.told["loss"] = torch.tensor(result.loss)
        else:
            self.step_by_hand(batch, rows, seed, updates)
        if updates and self.setup.shared:
            self.optimizer.zero_grad()  # after its step the gradients are the devices'

    def step_by_hand(self, batch, rows, seed, updates):
        if updates:
            self.optimizer.zero_grad()
        if self.mode is None and not self.scaler:
            self.backward_by_parts(batch)
            if updates:
                self.optimizer.step()
            return
        loss = self.call_loss(rows, seed)
        self.told["loss"] = loss.detach()
        if updates:
            self.finish(loss)
        else:
            loss.backward()

    def backward_by_parts(self, batch):
        """Micro-batches matter to buffers alone."""
        rows = len(batch[0])
        parts = min(self.setup.accumulate, rows) if {"norm", "count", "cache"} & set(self.net.kinds) else 1
        sizes = [rows // parts + (k < rows % parts) for k in range(parts)]
        count = batch[2].sum() if self.setup.loss == "weighted" else rows
        self.told["loss"] = torch.zeros(())
        for x, y, w in zip(*(t.split(sizes) for t in batch)):
            loss = self.weighted_loss(self.net(x), y, w)[0] / count
            loss.backward()
            self.told["loss"] += loss.detach()

    def backward(self, rows, seed, more_rows, syncs):
        wrapped = self.mode is not None
        with self.model.no_sync() if wrapped and not syncs else contextlib.nullcontext():
            loss = self.call_loss(rows, seed)
            if more_rows:
                loss = loss + self.call_loss(more_rows, seed + 1)
            self.told["loss"] = loss.detach()
            loss.backward()

    def late(self, rows, seed):
        """An update between a forward and its backward, which needs the parameters from before.

        Not where other devices than the first have them still, where they are computed with anew, and where devices share the update, which is
        a call of the wrapper also without a gradient.
        """
        if self.setup.shared or self.setup.chunks[:1] == (0,) or any(self.net.stars):
            return
        loss = self.call_loss(rows, seed)
        self.optimizer.step()
        loss.backward()

    def evaluate(self, rows, seed):
        trained = self.net.training
        self.model.eval()
        with torch.no_grad():
            self.told["output"] = self.model(self.batch(rows, seed)[0])
        self.model.train(trained)

    def update(self):
        self.optimizer.step()

    def zero_grad(self, none):
        self.optimizer.zero_grad(set_to_none=bool(none))

    def clip(self, percent):
        self.told["norm"] = nn.utils.clip_grad_norm_(self.net.parameters(), percent / 100).detach()

    def scale_gradients(self, percent):
        for p in self.net.parameters():
            if p.grad is not None:
                p.grad.mul_(percent / 100)

    def set_gradient(self, i, percent):
        self.parameter(i).grad = torch.full_like(self.parameter(i), percent / 100)

    def drop_gradient(self, i):
        self.parameter(i).grad = None

    def train(self, on):
        self.model.train(bool(on))

    def freeze(self, i):
        self.parameter(i).requires_grad_(False)

    def thaw(self, i):
        self.parameter(i).requires_grad_(True)

    def hook(self, i):
        p = self.parameter(i)
        if p.requires_grad:
            self.hooks.setdefault(id(p), []).append(p.register_hook(lambda g: None if g is None else g * 0.5))

    def unhook(self, i):
        for handle in self.hooks.pop(id(self.parameter(i)), []):
            handle.remove()

    def write(self, i, percent):
        with torch.no_grad():
            self.parameter(i).mul_(percent / 100)

    def learning_rate(self, thousandths):
        self.optimizer.param_groups[0]["lr"] = thousandths / 1000

    def average(self):
        if self.averages is not None:
            with torch.no_grad():
                for a, p in zip(self.averages.parameters(), self.net.parameters()):
                    a.lerp_(p, 0.5)

    def reload(self):
        file = io.BytesIO()
        torch.save({"net": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, file)
        file.seek(0)
        state = torch.load(file)
        self.model.load_state_dict(state["net"])
        self.optimizer = self.make_optimizer()
        self.optimizer.load_state_dict(state["optimizer"])

    def wrap_again(self):
        if self.mode is not None:
            self.model = None
            self.model = self.wrap()

    def synchronise(self):
        if self.mode is not None:
            self.model.sync()

    # What is seen of it.

    def run(self, statement):
        name, *numbers = statement.split()
        self.told = {}
        if name == "fail":
            return self.run_with_failure(int(numbers[0]), " ".join(numbers[1:]))
        getattr(self, name)(*(int(n) for n in numbers if n != "look"))

    def run_with_failure(self, part, statement):
        """A step whose K-th call of a part fails, and then without a failure."""
        if self.mode is None or self.setup.scaler:
            return self.run(statement)
        if statement.split()[3] == "1":
            self.optimizer.zero_grad()  # a step with an update begins with no gradients
        before = self.observe()
        Net.until_failure = part
        try:
            self.run(statement)
        except Injected:
            self.told = {}
            if changed := difference(self.observe(), before, 0):
                raise Changed(f"the failure has changed {changed}") from None
            self.run(statement)
        finally:
            Net.until_failure = 0

    def observe(self):
        """All that a user can read."""
        values = dict(self.told)
        for name, p in self.net.named_parameters():
            values["parameter " + name] = p.detach()
            if p.grad is not None:
                values["gradient " + name] = p.grad
        values |= {"buffer " + name: b for name, b in self.net.named_buffers()}
        for i, state in self.optimizer.state_dict()["state"].items():
            values |= {f"state {self.names[i]} {key}": torch.as_tensor(value) for key, value in state.items() if value is not None}
        if self.averages is not None:
            values |= {"average " + name: p.detach() for name, p in self.averages.named_parameters()}
        if self.scaler is not None:
            values["scale"] = torch.tensor(self.scaler.get_scale())
        return {name: value.detach().cpu().double() for name, value in values.items()}


def difference(own, right, tolerance):
    """The first of the values that differ by more than `tolerance` times their size; "": none does."""
    for name in right.keys() - own.keys():
        return f"{name}, which is missing"
    for name, value in own.items():
        if name not in right:
            return f"{name}, which should not be there"
        if value.shape != right[name].shape:
            return f"{name}, whose shape is {tuple(value.shape)}, not {tuple(right[name].shape)}"
        size = max(1.0, right[name].abs().max().item() if value.numel() else 0.0)
        off = (value - right[name]).abs().max().item() if value.numel() else 0.0
        if not off <= tolerance * size:
            return f"{name}: off by {off}"
    return ""
