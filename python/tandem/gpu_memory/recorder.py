# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Records a step of any program of PyTorch on GPUs, and tells what filled each of them."""

from __future__ import annotations

import pathlib
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

import torch
from torch import nn

from tandem.errors import InvalidArgument
from tandem.gpu_memory import history
from tandem.gpu_memory.annotated import annotate, dump
from tandem.gpu_memory.builder import Recording, build, shares_of
from tandem.gpu_memory.communicators import Communicators
from tandem.gpu_memory.held import note_held, note_older
from tandem.gpu_memory.marks import Marks
from tandem.gpu_memory.module_hooks import ModuleHooks
from tandem.gpu_memory.notes import Notes
from tandem.gpu_memory.outside import Driver, ask_driver, cublas_blocks
from tandem.gpu_memory.own_buffers import OwnBuffers
from tandem.gpu_memory.report import GpuMemory
from tandem.gpu_memory.step_hooks import StepHooks
from tandem.gpu_memory.wrapper_steps import WrapperSteps

_one = threading.Lock()  # the hooks and the history are the process's


class Recorder:
    """What happens between start() and stop(). One at a time in a process; also as a context manager."""

    def __init__(self, labels: bool | None = None) -> None:
        self._labels = labels
        self._marks, self._notes = Marks(labels), Notes()
        self._modules = ModuleHooks(self._marks, self._notes)
        self._steps = StepHooks(self._marks, self._notes, self._modules)
        self._wrappers = WrapperSteps(self._marks, self._modules, self._steps)
        self._communicators = Communicators()
        self._buffers = OwnBuffers()
        self._segments: list[dict[str, Any]] = []
        self._out_of_memory = False
        self._cublas: set[tuple[int, int]] = set()
        self._driver: dict[int, Driver] = {}
        self.snapshot: dict[str, Any] = {}

    def start(self) -> None:
        if not _one.acquire(blocking=False):
            raise InvalidArgument("memory: another measurement runs in this process; let it end first")
        try:
            history.check()
            self._segments = history.start()
            self._marks.set("between")
            self._modules.attach()
            self._steps.attach()
            self._wrappers.attach()
            self._communicators.attach()
            self._buffers.start()
            self.note_older()
        except BaseException:
            self._detach()
            self._buffers.stop(self._notes)
            _one.release()
            raise

    def restart(self) -> None:
        """Forgets what was recorded, and records on from here."""
        self._marks.clear_label()  # else the new ones took it for the program's
        self._marks, self._notes = Marks(self._labels), Notes()
        self._modules.use(self._marks, self._notes)
        self._steps.use(self._marks, self._notes)
        self._wrappers.use(self._marks)
        self._buffers.start()
        history.stop()
        self._segments = history.start()
        self._marks.set("between")

    def note_older(self) -> None:
        """A step that begins now may have tensors of the one before, and let go of them."""
        note_older(self._notes, self._modules.names)

    def stop(self, failure: BaseException | None = None) -> None:
        """Ends the recording; after torch.OutOfMemoryError the report is of the moment of the failed allocation."""
        self._out_of_memory = _ran_out(failure)
        self._detach()
        self._marks.clear_label()
        try:
            self.snapshot = history.stop()
            self._cublas, self._driver = cublas_blocks(self.snapshot), ask_driver(self._communicators.nbytes)
            self._buffers.stop(self._notes)
            note_held(self._notes, self._modules.names)
        finally:
            _one.release()

    def watch_communicators(self) -> None:
        """From here on, as they may be made long before start(). Ends with the recording, or by forget_communicators()."""
        self._communicators.attach()

    def forget_communicators(self) -> None:
        self._communicators.detach()

    def _detach(self) -> None:
        self._communicators.detach()
        self._wrappers.detach()
        self._steps.detach()
        self._modules.detach()

    def enter(self, module: nn.Module, inputs: Any) -> None:
        """The recording began in a hook of this module, which is about to run."""
        self._modules.before(module, inputs)

    def on_update(self, listener: Callable[[torch.optim.Optimizer], None]) -> None:
        """Lets `listener` be called after each update, while it records. It may stop or restart the recording."""
        self._steps.after_update.append(listener)

    def report(self) -> GpuMemory:
        """What filled each GPU, after stop()."""
        return build(self._recording())

    def save_snapshot(self, path: pathlib.Path) -> None:
        """Writes what PyTorch's memory_viz reads, with the cause of each block as its first frame."""
        recording = self._recording()
        dump(annotate(recording.snapshot, shares_of(recording)), path)

    def _recording(self) -> Recording:
        history.check_length(self.snapshot)
        return Recording(self._segments, self.snapshot, self._marks, self._notes, self._modules.cast_sizes(),
                         self._modules.bucket_sizes, self._modules.block_inputs, self._modules.rows, self._cublas,
                         self._modules.cudnn, self._driver, self._out_of_memory)

    def __enter__(self) -> Recorder:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.stop(error)


def _ran_out(failure: BaseException | None) -> bool:
    """Whether that is the reason, or what lies behind it: torch.multiprocessing.spawn exits then."""
    while failure is not None and not isinstance(failure, torch.OutOfMemoryError):
        failure = failure.__cause__ or failure.__context__
    return failure is not None


def measure(step: Callable[[], object], labels: bool | None = None) -> GpuMemory:
    """Calls step() once, and tells what filled each GPU at its peak.

    It should not be the first step of a training, which also makes what later steps find there: the optimizer's state, for
    one. `labels=False` finds threads by time alone, as it must with a PyTorch that cannot label its history.

    @throws DeviceError      there is no GPU, or no PyTorch for one.
    @throws InvalidArgument  PyTorch is too old, or somebody else records already.
    """
    recorder = Recorder(labels)
    with recorder:
        step()
    return recorder.report()
