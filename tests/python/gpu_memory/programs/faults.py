# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What may go wrong around a measurement, in one process; prints a line for each."""

import pathlib
import pickle
import tempfile
import warnings
from unittest import mock

import models
import torch
from tandem.errors import InvalidArgument
from tandem.gpu_memory import Recorder, history, measure
from tandem.gpu_memory.marks import Marks, now
from tandem.gpu_memory.snapshot_file import read
from torch.nn.modules import module
from torch.optim import optimizer


def state():
    """What a measurement changes while it runs."""
    hooks = (module._global_forward_pre_hooks, module._global_forward_hooks, optimizer._global_optimizer_pre_hooks,
             optimizer._global_optimizer_post_hooks)
    return [*map(len, hooks), torch._C._cuda_isHistoryEnabled(), torch.autograd.backward, torch.autograd.grad, list(warnings.filters)]


def refused(call):
    try:
        call()
    except InvalidArgument as error:
        return str(error)
    return "not refused"


def failing():
    step()
    raise KeyError("of the step")


step = models.words(torch.optim.SGD, False)
step()
clean = state()
try:
    measure(failing)
except KeyError as error:
    print("raised", error, state() == clean)
with Recorder() as recorder:
    print("two", refused(lambda: measure(step)))
    step()
with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
    recorder.save_snapshot(pathlib.Path(file.name))
    gpu = read(pathlib.Path(file.name)).gpus[0]
    with open(file.name, "rb") as saved:
        snapshot = pickle.load(saved)
frames = {entry["frames"][0]["name"] for entry in snapshot["device_traces"][0] if entry["action"] == "alloc"}
print("snapshot", gpu.peak_bytes == recorder.report().gpus[0].peak_bytes, "saved activation of block.0, forward" in frames)
print("left", state() == clean, len(recorder.report().gpus))
torch.cuda.memory._record_memory_history("all", context=None)
print("history", refused(lambda: measure(step)), torch._C._cuda_isHistoryEnabled())
torch.cuda.memory._record_memory_history(None)
print("later", measure(step).gpus[0].unnamed < 0.03, state() == clean)
workspaces = []
with mock.patch.object(torch._C, "_cuda_clearCublasWorkspaces", workspaces.clear):  # which the stand-in has none of
    report = measure(lambda: (workspaces or workspaces.append(torch.empty(1 << 20, device="cuda")), step()))
print("cublas", report.gpus[0].by_cause["cuBLAS workspace"])


class Convolution(torch.nn.Conv2d):
    """Its op needs a workspace, as on a GPU, in both directions; the stand-in's needs none, and has no cuDNN."""

    @staticmethod
    def work(*_):
        torch.empty(1 << 20, device="cuda")

    def forward(self, x):
        self.work()
        y = super().forward(x)
        y.grad_fn.register_hook(self.work)
        return y


convolutions = torch.nn.Sequential(Convolution(1, 1, 1), torch.nn.ReLU(), Convolution(1, 1, 1)).cuda()
for on in (True, False):
    with mock.patch.object(type(torch.backends.cudnn), "enabled", on):
        report = measure(lambda: convolutions(torch.ones(2, 1, 4, 4, device="cuda")).sum().backward())
    seen = {(cause, nbytes) for at in report.gpus[0].line for cause, nbytes in at.by_cause.items() if "workspace" in cause}
    print("cudnn" if on else "own", report.gpus[0].phase, *seen)
torch.empty(1 << 26, device="cuda")
peaks = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
measure(step)
print("counters", (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()) == peaks)
labels = hasattr(torch.cuda.memory, "_set_memory_metadata")
print("labels", labels)
if labels:
    torch.cuda.memory._set_memory_metadata("mine")
    measure(step)
    print("label", torch.cuda.memory._get_memory_metadata())
    with Recorder() as recorder:
        step()
        recorder.restart()
        step()
    print("restarted", torch.cuda.memory._get_memory_metadata())
    older, newer = Marks(), Marks()
    older.set("backward")
    label = torch.cuda.memory._get_memory_metadata()
    newer.set("forward")
    newer.set("update")
    print("older", newer.find(0, now(), label).phase)
history.MOST_ENTRIES, former = 20, history.MOST_ENTRIES
print("long", refused(lambda: measure(step)), state() == clean)
history.MOST_ENTRIES = former
torch.__version__ = "2.7.1"
print("old", refused(lambda: measure(step)))
