# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Sees backward and the optimizer's update: the graph's nodes, the gradients, the optimizer's state."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from tandem.gpu_memory import causes
from tandem.gpu_memory.graph import NodePlace, watch
from tandem.gpu_memory.marks import Marks
from tandem.gpu_memory.module_hooks import ModuleHooks
from tandem.gpu_memory.notes import Notes


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

    def _watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            roots = args[0] if args else kwargs.get("tensors", kwargs.get("outputs", ()))
            with torch.no_grad():
                leaves = watch([roots] if isinstance(roots, torch.Tensor) else list(roots), self._before_node)
            self._marks.set("backward")
            try:
                return function(*args, **kwargs)
            finally:
                for x in leaves:
                    if x.grad is not None and isinstance(x, nn.Parameter):
                        self._notes.add(x.grad, causes.GRADIENT, self._name(x))
                self._marks.set(self._phase_after_backward())

        watched.__wrapped__ = function  # type: ignore[attr-defined]
        return watched

    def _phase_after_backward(self) -> str:
        """A checkpoint's backward is within another, and an optimizer's closure within its update."""
        if torch._C._current_graph_task_id() != -1:
            return "backward"
        return "update" if self._in_update else "between"

    def _before_node(self, place: NodePlace, node: Any) -> Callable[[Sequence[torch.Tensor]], None]:
        caller = threading.get_ident()
        made = self._marks.of_node(place.sequence, caller if place.replica is None else None, place.replica)
        module, in_loss = ("", False) if made is None or place.is_leaf or place.is_broadcast else (made.module, made.phase in ("loss", "gather", "between"))
        cause, owners = self._cause_of_gradients(place, node, in_loss, caller), self._owners(place, node, module)
        op = ("loss:" if in_loss else "") + place.op

        def before(gradients: Sequence[torch.Tensor]) -> None:
            if self._active:
                for number, gradient in enumerate(gradients):
                    self._notes.add(gradient, cause, owners[number % len(owners)])
                self._marks.set("backward", module, 1, op)

        return before

    def _owners(self, place: NodePlace, node: Any, module: str) -> list[str]:
        """Whose the gradients are that come to a node; a broadcast has those of each parameter, for one copy after the other."""
        if place.is_leaf:
            return [self._name(node.variable)]
        if place.is_broadcast:
            return [self._name(getattr(following, "variable", None)) for following, _ in node.next_functions] or [""]
        return [module]

    def _name(self, x: Any) -> str:
        return self._modules.names.get(id(x), "")

    def _cause_of_gradients(self, place: NodePlace, node: Any, in_loss: bool, caller: int) -> str:
        if place.is_leaf:
            is_parameter = isinstance(node.variable, nn.Parameter) or bool(self._name(node.variable))
            return causes.GRADIENT if is_parameter else causes.GRADIENT_OF_ACTIVATION
        if place.is_broadcast:
            return causes.GRADIENT_OF_COPY
        if place.is_gather or (place.replica is None and (caller, place.sequence) in self._modules.outputs):
            return causes.GRADIENT_OF_OUTPUT
        return causes.LOSS_BACKWARD if in_loss else causes.GRADIENT_OF_ACTIVATION

    def _before_update(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if not self._active:
            return
        self._in_update = True
        for group in optimizer.param_groups:
            for x in group["params"]:
                self._notes.add(x, causes.PARAMETER, self._name(x))
                if x.grad is not None:
                    self._notes.add(x.grad, causes.GRADIENT, self._name(x))
        self._note_state(optimizer)  # an update may replace it
        self._marks.set("update")

    def _after_update(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if not self._active:
            return
        self._note_state(optimizer)
        self._marks.set("between")
        for listener in self.after_update:
            listener(optimizer)
        self._in_update = False

    def _note_state(self, optimizer: torch.optim.Optimizer) -> None:
        for x, state in optimizer.state.items():
            self._notes.add(state, causes.OPTIMIZER_STATE, self._name(x))


def _remove(handles: list[Any]) -> None:
    for handle in handles:
        handle.remove()
