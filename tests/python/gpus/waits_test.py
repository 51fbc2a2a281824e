# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Each wait of tandem for a GPU is left out once, at its place in the code, and that is noticed: by a race, a wrong result or an error."""

import functools
import os
import unittest

import torch
from control import fail, forget_failures, reports
from torch import nn
from torch.nn import functional as F
from wait_places import leave_out_none, note_waits, places

import tandem

DEVICES = os.environ.get("SHARED_DEVICES")  # several devices on one GPU, or none: all GPUs
# What is not seen here, and why it is there.
UNSEEN = {
    "cudaEventQuery in tandem::comm::QueuedWork::drop_ended()": "it asks which work has ended, so as to forget it, and goes on without the answer",
    "cudaStreamWaitEvent in tandem::copy_bytes(": "on one GPU both streams go on after a copy, as tests of TorchGpusTest see; a step's do so anyway",
    "cudaStreamQuery in tandem::libtorch::CallerStreams::join() const": "where streams cannot be joined; they are again when the call ends",
}
# Calls that fail in a step, by their numbers in it.
FAILURES = {
    "cudaMemcpyAsync": range(2, 40, 5),
    "cudaEventRecordWithFlags": range(1, 60, 2),
    "cudaStreamWaitEvent": range(1, 60, 2),
    "cudaStreamQuery": range(1, 9),
}
MODES = ("server", "sharded", "ddp", "classic")


class Rich(nn.Module):
    """Batch norm, dropout, a buffer that is written, large and small parameters, and a layer on a stream of its own."""

    def __init__(self, norm):
        super().__init__()
        self.first = nn.Linear(6, 160)
        self.norm = nn.BatchNorm1d(160) if norm else nn.LayerNorm(160)
        self.wide = nn.Linear(160, 160)
        self.last = nn.Sequential(nn.Dropout(0.25), nn.Linear(160, 3))
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        x = self.norm(self.first(x))
        current, own = torch.cuda.current_stream(x.device), torch.cuda.Stream(x.device)
        own.wait_stream(current)
        x.record_stream(own)
        with torch.cuda.stream(own):
            y = self.wide(x).tanh()
        current.wait_stream(own)
        y.record_stream(current)
        return self.last(y)


def make(kind, norm=not DEVICES):
    """A model. PyTorch's allocator asks for memory of streams that wait for each other, by which the host learns much: a plain one has none."""
    torch.manual_seed(1)
    model = Rich(norm) if kind == "rich" else nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))
    return model.cuda()


def batch(rows):
    torch.manual_seed(rows)
    return 2 * torch.randn(rows, 6).cuda(), 2 * torch.randn(rows, 3).cuda()  # by kernels that the host does not wait for


def mean_loss(model, part):
    return F.mse_loss(model(part[0]), part[1])


class Told:
    """A loss that uses tensors of its caller, and shows it the outputs."""

    def __init__(self):
        self.outputs = []
        self.scales = [2 * torch.ones((), device=gpu) for gpu in range(torch.cuda.device_count())]

    def __call__(self, model, part):
        y = model(part[0])
        self.outputs.append(y.detach())
        return F.mse_loss(y * self.scales[y.device.index], part[1])

    def look(self):
        for y in self.outputs:
            y.mul_(2)


def weighted_loss(model, part):
    return F.mse_loss(model(part[0]), part[1], reduction="sum"), torch.isfinite(part[1]).sum()


def wrapped(kind, mode="server", **options):
    options |= {"devices": DEVICES, "dropout": "by_row"} if DEVICES else {}
    return tandem.DataParallel(make(kind), mode=mode, deadline=20.0, **options)


def values(*states):
    return [x.detach().cpu().clone() for state in states for x in torch.utils._pytree.tree_leaves(state) if isinstance(x, torch.Tensor)]


def steps(kind, mode, backend="local"):
    wrapper = wrapped(kind, mode, backend=backend)
    optimizer = tandem.Optimizer(wrapper, torch.optim.Adam, lr=0.05)
    losses = []
    for rows, loss in ((8, mean_loss), (3, Told()), (7, weighted_loss)):
        losses.append(wrapper.step(batch(rows), loss, optimizer).loss)
        if isinstance(loss, Told):
            loss.look()
    return values(wrapper.module.state_dict(), optimizer.state_dict()["state"], torch.tensor(losses))


def a_call_on_a_stream_of_the_user():
    wrapper, (x, y) = wrapped("plain"), batch(7)
    optimizer = torch.optim.SGD(wrapper.module.parameters(), lr=0.1)
    streams = [torch.cuda.Stream(gpu) for gpu in range(torch.cuda.device_count())]
    for stream in streams:
        stream.wait_stream(torch.cuda.current_stream(stream.device))
    for part in (x, y):
        part.record_stream(streams[0])
    for stream in streams:
        torch.cuda.set_stream(stream)
    torch.cuda.set_device(0)
    try:
        for _ in range(2):
            optimizer.zero_grad()
            mean_loss(wrapper, (x, y)).backward()
            optimizer.step()
    finally:
        for stream in streams:
            torch.cuda.default_stream(stream.device).wait_stream(stream)
            torch.cuda.set_stream(torch.cuda.default_stream(stream.device))
        torch.cuda.set_device(0)
    return values(wrapper.module.state_dict())


def an_evaluation():
    wrapper = wrapped("rich")
    wrapper.eval()
    with torch.no_grad():
        found = [wrapper(batch(rows)[0]) for rows in (7, 7, 2)]
        for p in wrapper.module.parameters():
            p.mul_(1.5)
        found.append(wrapper(batch(5)[0]))
    return values(found, wrapper.module.state_dict())


def parts_of_a_batch():
    wrapper = wrapped("rich", "ddp", accumulate=2)
    optimizer = tandem.Optimizer(wrapper, torch.optim.SGD, lr=0.05, momentum=0.9)
    for rows in (8, 5):
        wrapper.step(batch(rows), mean_loss, optimizer)
    return values(wrapper.module.state_dict())


def a_resumed_training():
    wrapper = wrapped("plain", "sharded")
    optimizer = tandem.Optimizer(wrapper, torch.optim.Adam, lr=0.05)
    wrapper.step(batch(8), mean_loss, optimizer)
    state = optimizer.state_dict()
    wrapper.step(batch(5), mean_loss, optimizer)
    optimizer.load_state_dict(state)
    wrapper.step(batch(8), mean_loss, optimizer)
    return values(wrapper.module.state_dict())


def failed_steps(mode):
    """Which step is refused, and whether it is lost, depends on the order of threads, so that there are no values to compare."""

    def begin():
        wrapper = wrapped("plain", mode)
        optimizer = tandem.Optimizer(wrapper, torch.optim.Adam, lr=0.05)
        wrapper.step(batch(8), mean_loss, optimizer)
        return wrapper, optimizer

    wrapper, optimizer = begin()
    for failure in (f"{call}:{i}" for call, numbers in FAILURES.items() for i in numbers):
        loss = Told()
        fail(failure)
        try:
            wrapper.step(batch(8), loss, optimizer)
        except (RuntimeError, tandem.errors.Error) as e:
            if isinstance(e, tandem.errors.Timeout):
                raise
        finally:
            forget_failures()
            torch.cuda.set_device(0)
        loss.look()
        used = [torch.ones(8, 6, device=gpu) for gpu in range(torch.cuda.device_count()) for _ in range(20)]  # of memory that was given back
        del used
        try:
            wrapper.step(batch(8), mean_loss, optimizer)
        except tandem.InvalidArgument:  # the update has failed in the middle
            wrapper, optimizer = begin()
    return []


SCENARIOS = [functools.partial(steps, "plain", mode) for mode in MODES]
SCENARIOS += [functools.partial(failed_steps, mode) for mode in ("server", "sharded")]
SCENARIOS += [functools.partial(steps, "rich", mode) for mode in ("server", "sharded")]
SCENARIOS += [a_call_on_a_stream_of_the_user, an_evaluation, parts_of_a_batch, a_resumed_training]
if not DEVICES:
    SCENARIOS.append(functools.partial(steps, "plain", "sharded", "nccl"))


class WaitsTest(unittest.TestCase):
    maxDiff = None

    def test_each_is_noticed(self):
        wanted = []
        for scenario in SCENARIOS:
            scenario()  # makes what is made once
            note_waits(True)
            wanted.append(scenario())
            note_waits(False)
            self.assertEqual(reports(), [])
        found = places()
        self.assertGreater(len(found), 7)
        seen = [place for place in found if not str(place).startswith(tuple(UNSEEN))]
        self.assertEqual([str(place) for place in seen if not self.is_noticed(place, wanted)], [])

    def is_noticed(self, place, wanted):
        for scenario, result in 3 * list(zip(SCENARIOS, wanted)):  # threads take turns in other orders each time
            place.leave_out()
            try:
                found = scenario()
            except Exception:
                return True
            finally:
                leave_out_none()
                torch.cuda.set_device(0)
                races = reports()
            if races or any(not torch.equal(x, y) for x, y in zip(found, result, strict=True)):
                return True
        return False


if __name__ == "__main__":
    unittest.main()
