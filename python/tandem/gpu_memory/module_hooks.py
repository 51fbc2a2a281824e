# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Sees each module begin and end, in each thread: where the thread is, and what lies where."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as modules

from tandem.gpu_memory import causes
from tandem.gpu_memory.marks import Mark, Marks
from tandem.gpu_memory.module_paths import CompiledModules, ModulePaths, block_of, inner_of, is_data_parallel, is_replica, is_wrapper, owned
from tandem.gpu_memory.notes import Notes, tensors_in

_OF_CUDNN = (nn.modules.conv._ConvNd, nn.RNNBase)


class _Thread(threading.local):
    """The modules that are open in a thread, with the phase that it was in before the first."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.wrappers = 0
        self.in_step = False  # of tandem.DataParallel: the loss runs in the replica's thread
        self.interrupted: Mark | None = None  # what backward was in when a checkpoint began to compute again


class ModuleHooks:
    """Global hooks of modules. Phases are forward, replicate (in a wrapper, before the copies run), gather and loss."""

    def __init__(self, marks: Marks, notes: Notes) -> None:
        self.use(marks, notes)
        self._paths = ModulePaths()
        self._compiled = CompiledModules()
        self.thread = _Thread()
        self.outputs: set[tuple[int, int]]  # thread and number of the nodes that made the model's outputs
        self._casts: dict[str, dict[str, Counter[int]]]  # by module, where autocast is on: bytes in 16 bit of its parameters, and its parts'
        self.bucket_sizes: set[int]  # bytes of the buckets of DistributedDataParallel
        self._noted: set[int]  # modules whose members are known, by id; those of the program live as long as the recording
        self.block_inputs: dict[tuple[int, str], int]  # by GPU and repeated block: bytes that it is called with
        self.cudnn: set[str]  # modules that cuDNN computes
        self.rows: int  # of the batch, as a wrapper's outputs have them
        self.names: dict[int, str] = {}  # of parameters, by id; the program's parameters live as long as the recording
        self._handles: list[Any] = []

    def use(self, marks: Marks, notes: Notes) -> None:
        self._marks, self._notes = marks, notes
        self._noted, self.outputs, self._casts, self.bucket_sizes, self.block_inputs, self.cudnn, self.rows = set(), set(), {}, set(), {}, set(), 0

    def attach(self) -> None:
        self._compiled.begin()
        self._handles = [
            modules.register_module_forward_pre_hook(self.before),
            modules.register_module_forward_hook(self._after, always_call=True),
        ]

    def detach(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._compiled.end()

    def before(self, module: nn.Module, inputs: Any) -> None:
        if torch.compiler.is_compiling():
            return  # torch.compile reads the hooks of what it compiles; the module that it makes calls them as others do
        thread, copy = self.thread, is_replica(module)
        is_root = not thread.open or (thread.wrappers == len(thread.open) and copy)
        path = self._paths.of(module)
        if is_root and not _needs_gradient(inputs):
            self._notes.add((inputs, _keywords()), causes.INPUT, "")
        if path and block_of(path) == path:
            self.block_inputs[torch.cuda.current_device(), path] = sum(x.nbytes for x in tensors_in(inputs))
        self._note_members(module, path, copy)
        if not thread.open:
            thread.interrupted = self._marks.last() if _in_backward() else None
        thread.open.append(path)
        inner = inner_of(module)
        if inner is not module:
            for name, x in inner.named_parameters():  # copies have parameters of their own
                self._notes.add(x, causes.PARAMETER, name)
                self._note_gradient(x, name)
                self.names.setdefault(id(x), name)
        if is_wrapper(module):
            thread.wrappers += 1
            self.bucket_sizes |= _bucket_sizes(module)
        inside = is_data_parallel(module)
        self._marks.set("replicate" if inside else _phase("forward"), path, len(thread.open))

    def _after(self, module: nn.Module, inputs: Any, output: Any) -> None:
        thread = self.thread
        if torch.compiler.is_compiling() or not thread.open:
            return  # or the recording began inside of the module
        thread.open.pop()
        if is_wrapper(module):
            thread.wrappers -= 1
            if is_data_parallel(module):
                self._notes.add(output, causes.GATHERED_OUTPUT, "")
                self.rows = max([self.rows, *(x.shape[0] for x in tensors_in(output) if x.dim() > 1)])
        outermost = not thread.open
        if outermost and not _in_backward():
            self._note_outputs(output, is_replica(module))
        if outermost and thread.interrupted is not None:
            before = thread.interrupted
            self._marks.set(before.phase, before.module, before.depth, before.op)
        elif outermost and is_replica(module) and not thread.in_step:
            self._marks.set("gather")
        elif outermost:
            self._marks.set("loss")
        else:
            self._marks.set(_phase("forward"), thread.open[-1], len(thread.open))

    def cast_sizes(self) -> dict[str, Counter[int]]:
        """By module: bytes of the parameters that autocast may make in 16 bit there, and how many; those of parts that were not called
        are used by the module itself."""
        return {path: sum((sizes for part, sizes in parts.items() if part == path or part not in self._casts), Counter())
                for path, parts in self._casts.items()}

    def _note_members(self, module: nn.Module, path: str, copy: bool) -> None:
        if not copy and id(module) in self._noted:
            return
        self._noted.add(id(module))
        if isinstance(module, _OF_CUDNN) and torch.backends.cudnn.enabled and torch.backends.cudnn.is_available():
            self.cudnn.add(path)
        former = module.__dict__.get("_former_parameters", {})
        cause = causes.PARAMETER_COPY if copy else causes.PARAMETER
        if torch.is_autocast_enabled("cuda") and path not in self._casts:
            parts = (part for part in (module, *module._modules.values()) if part is not None)
            self._casts[path] = {self._paths.of(part): _cast_sizes(part) for part in parts}
        for name, x in [*module._parameters.items(), *former.items()]:
            if x is not None:
                owner = owned(path, name)
                self._notes.add(x, cause, owner)
                if not copy:
                    self.names.setdefault(id(x), owner)
                    self._note_gradient(x, owner)
        for name, x in module._buffers.items():
            if x is not None:
                self._notes.add(x, causes.BUFFER, owned(path, name))

    def _note_gradient(self, x: torch.Tensor, owner: str) -> None:
        """Of the step before, if it is still there."""
        if x.is_leaf and x.grad is not None:
            self._notes.add(x.grad, causes.GRADIENT, owner)

    def _note_outputs(self, output: Any, copy: bool) -> None:
        ident = threading.get_ident()
        for x in tensors_in(output):
            self._notes.add(x, causes.OUTPUT, "")
            if x.grad_fn is not None and not copy:
                self.outputs.add((ident, x.grad_fn._sequence_nr()))


def _keywords() -> Any:
    """What the module that a hook is called for was given by keyword, which PyTorch does not tell the hooks of all modules."""
    frame = sys._getframe(2)
    return frame.f_locals.get("kwargs") if frame.f_code.co_filename == modules.__file__ else None


def _cast_sizes(module: nn.Module) -> Counter[int]:
    """Bytes in 16 bit of a module's own parameters, and how many have so many."""
    own = (*module._parameters.values(), *module.__dict__.get("_former_parameters", {}).values())
    return Counter(2 * x.numel() for x in own if x is not None and x.dtype == torch.float32)


def _in_backward() -> bool:
    """Whether a backward calls the module: then a checkpoint computes again."""
    return torch._C._current_graph_task_id() != -1


def _phase(name: str) -> str:
    return "recompute" if _in_backward() else name


def _needs_gradient(inputs: Any) -> bool:
    return any(isinstance(x, torch.Tensor) and x.requires_grad for x in inputs)


def _bucket_sizes(module: nn.Module) -> set[int]:
    """Bytes of the buckets that DistributedDataParallel made first, and then anew after its first backward."""
    if not isinstance(module, nn.parallel.DistributedDataParallel):
        return set()
    told = module._get_ddp_logging_data()
    texts = (told.get(name, "") for name in ("bucket_sizes", "rebuilt_bucket_sizes"))
    return {int(part) for text in texts for part in str(text).split(",") if part.strip().isdigit()}
