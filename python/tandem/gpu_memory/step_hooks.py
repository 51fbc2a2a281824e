# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Sees backward and the optimizer's update: the graph's nodes, the gradients, the optimizer's state."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from tandem.gpu_memory import causes
from tandem.gpu_memory.graph import SEVERAL, NodePlace, nodes_behind
from tandem.gpu_memory.marks import Marks
from tandem.gpu_memory.module_hooks import ModuleHooks
from tandem.gpu_memory.notes import Notes


@dataclass
class _Region:
    """Nodes that a thread of backward runs one after the other: those of one module, or of the loss."""

    module: str
    in_loss: bool
    replica: int | None
    ops: list[str]

    @property
    def op(self) -> str:
        return ("loss:" if self.in_loss else "") + (self.ops[0] if len(self.ops) == 1 else SEVERAL)


class StepHooks:
    """Replaces torch.autograd.backward and grad while it is attached, and has the global hooks of optimizers."""

    def __init__(self, marks: Marks, notes: Notes, modules: ModuleHooks) -> None:
        self._modules = modules
        self.after_update: list[Callable[[torch.optim.Optimizer], None]] = []  # are told, last
        self.use(marks, notes)
        self._active = self._in_update = False
        self._handles: list[Any] = []
        self._former: dict[str, Callable[..., Any]] = {}

    def use(self, marks: Marks, notes: Notes) -> None:
        self._marks, self._notes = marks, notes

    def attach(self) -> None:
        self._active = True
        self._former = {"backward": torch.autograd.backward, "grad": torch.autograd.grad}
        for name, function in self._former.items():
            setattr(torch.autograd, name, self._watched(function))
        self._handles = [
            register_optimizer_step_pre_hook(self._before_update),
            register_optimizer_step_post_hook(self._after_update),
        ]

    def detach(self) -> None:
        """Safe within a hook of an optimizer: PyTorch then still goes through the list of these hooks, so they stay in it,
        without effect, up to the next call of a module."""
        self._active = False  # hooks of nodes stay with a graph that the program keeps
        for name, function in self._former.items():
            setattr(torch.autograd, name, function)
        handles, self._handles, self._former = self._handles, [], {}
        if not handles:
            return
        if not self._in_update:
            _remove(handles)
            return

        def sweep(*_: Any) -> None:
            _remove([*handles, sweeper])

        sweeper = register_module_forward_pre_hook(sweep)

    def begin_backward(self, root: Any) -> None:
        """The calling thread goes backward from here, by a call that is not one of those replaced."""
        with torch.no_grad():
            self._watch([root])
        self._marks.set("backward")

    def _watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            roots = args[0] if args else kwargs.get("tensors", kwargs.get("outputs", ()))
            with torch.no_grad():
                leaves = self._watch([roots] if isinstance(roots, torch.Tensor) else list(roots))
            before = self._marks.last()
            self._marks.set("backward")
            try:
                return function(*args, **kwargs)
            finally:
                for x in leaves:
                    if x.grad is not None and isinstance(x, nn.Parameter):
                        self._notes.add(x.grad, causes.GRADIENT, self._name(x))
                if before is not None and torch._C._current_graph_task_id() != -1:  # a checkpoint's, within another
                    self._marks.set(before.phase, before.module, before.depth, before.op)
                else:  # an optimizer's closure is within its update
                    self._marks.end_backward()
                    self._marks.set("update" if self._in_update else "between")

        watched.__wrapped__ = function  # type: ignore[attr-defined]
        return watched

    def _watch(self, roots: Sequence[Any]) -> list[torch.Tensor]:
        """Hooks the nodes where backward comes into another module, or whose gradients have a cause of their own; returns the leaves.

        A GPU's thread takes the node with the highest number, of those that are ready; so the nodes of a module run one after the other.
        """
        nodes, leaves = nodes_behind(roots)
        caller = threading.get_ident()
        former: dict[int, _Region | None] = {}  # by thread of backward
        for place in sorted(nodes, key=lambda node: -node.sequence):
            thread = place.thread
            made = None if place.is_broadcast else self._marks.of_node(place.sequence, place.replica)
            in_loss = made is not None and made.phase in ("loss", "gather", "between")
            cause = self._cause_of_gradients(place, caller)
            module = made.module if made else ""
            region = former.get(thread)
            if cause is None and region and (region.module, region.in_loss, region.replica) == (module, in_loss, place.replica):
                region.ops.append(place.op)
                continue
            region = _Region(module, in_loss, place.replica, [place.op])
            former[thread] = None if place.is_broadcast else region  # what comes behind that is another's
            place.node.register_prehook(self._before_region(region, cause, self._owners(place, module)))
        for leaf in leaves:
            leaf.register_prehook(self._before_leaf(leaf.variable))
        return [leaf.variable for leaf in leaves]

    def _before_leaf(self, x: torch.Tensor) -> Callable[[Sequence[torch.Tensor]], None]:
        name = self._name(x)
        cause = causes.GRADIENT if name or isinstance(x, nn.Parameter) else causes.GRADIENT_OF_ACTIVATION

        def before(gradients: Sequence[torch.Tensor]) -> None:
            if self._active:
                self._notes.add(gradients, cause, name)

        return before

    def _before_region(self, region: _Region, cause: str | None, owners: list[str]) -> Callable[[Sequence[torch.Tensor]], None]:
        def before(gradients: Sequence[torch.Tensor]) -> None:
            if self._active:
                if cause is not None:
                    for number, gradient in enumerate(gradients):
                        self._notes.add(gradient, cause, owners[number % len(owners)])
                self._marks.set("backward", region.module, 1, region.op)

        return before

    def _owners(self, place: NodePlace, module: str) -> list[str]:
        """Whose the gradients are that come to a node; a broadcast has those of each parameter, for one copy after the other."""
        if place.is_broadcast:
            return [self._name(getattr(following, "variable", None)) for following, _ in place.node.next_functions] or [""]
        return [module]

    def _name(self, x: Any) -> str:
        return self._modules.names.get(id(x), "")

    def _cause_of_gradients(self, place: NodePlace, caller: int) -> str | None:
        """Of those that come to a node; None: that of the region that made them."""
        if place.is_broadcast:
            return causes.GRADIENT_OF_COPY
        if place.is_gather or (place.replica is None and (caller, place.sequence) in self._modules.outputs):
            return causes.GRADIENT_OF_OUTPUT
        return None

    def _before_update(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if not self._active:
            return
        self._in_update = True
        for group in optimizer.param_groups:
            for x in group["params"]:
                if x.grad is not None:
                    self._notes.add(x.grad, causes.GRADIENT, self._name(x))
        self._marks.set("update")

    def _after_update(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if not self._active:
            return
        self._marks.set("between")
        for listener in self.after_update:
            listener(optimizer)
        self._in_update = False


def _remove(handles: list[Any]) -> None:
    for handle in handles:
        handle.remove()
