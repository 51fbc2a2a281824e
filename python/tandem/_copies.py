# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of a module for the devices, and what they follow of it."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from operator import is_
from typing import Any

import torch

from tandem._home import check_supported, tensors_of
from tandem.errors import InvalidArgument

# The attributes of a module that the extension module or the copies see to.
_OWN = frozenset({"_parameters", "_buffers", "_modules", "training", "_is_replica", "_former_parameters"})


def path_of(part: Any) -> str:
    """The path of a copy's part in its module; '' if it is none."""
    return part.__dict__.get("_tandem_path", "") if isinstance(part, torch.nn.Module) else ""


def _is_same(now: dict[str, Any], seen: dict[str, Any]) -> bool:
    """Whether both have the same objects under the same names, in the same order."""
    return list(now) == list(seen) and all(map(is_, now.values(), seen.values()))


class _Part:
    """A part of the module, and what it was when the copies were made or last followed it."""

    def __init__(self, module: torch.nn.Module, path: str):
        self.module, self.path = module, path
        self.copies: list[weakref.ref[torch.nn.Module]] = []
        self.attributes = dict(module.__dict__)
        self.tables = [list(table.items()) for table in self._tables()]
        self.tensors = [x for table in self._tables()[:2] for x in table.values() if x is not None]
        self.tensor_attributes = [dict(x.__dict__) for x in self.tensors]
        self.hook_tables = list(_hook_tables(module).values())
        self.hooks = [dict(table) for table in self.hook_tables]

    def _tables(self) -> tuple[dict[str, Any], ...]:
        own = self.module.__dict__
        return own["_parameters"], own["_buffers"], own["_modules"]

    def has_same_tables(self) -> bool:
        """Whether the module still has the parameters, buffers and parts that it had."""
        for table, seen in zip(self._tables(), self.tables):
            if len(table) != len(seen):
                return False
            for (name, value), (old_name, old) in zip(table.items(), seen):
                if value is not old or name != old_name:
                    return False
        return True

    def add(self, copy: torch.nn.Module, changed: list[_Table]) -> None:
        for name in ("_parameters", "_buffers"):
            copy.__dict__[name] = _Table(copy.__dict__[name], self.module.__dict__[name], len(self.copies), changed)
        self.copies.append(weakref.ref(copy))

    def follow(self) -> None:
        """Brings what was set, replaced or deleted to the copies: attributes, those of tensors, and hooks."""
        if any(self.hook_tables) or any(self.hooks):
            self._follow_hooks()
        for i, x in enumerate(self.tensors):
            if x.__dict__ or self.tensor_attributes[i]:
                self._follow_tensor(i)
        now = self.module.__dict__
        if _is_same(now, self.attributes):
            return
        _check_part(self.module, self.path)
        for copy in filter(None, (reference() for reference in self.copies)):
            for name, value in now.items():
                if name not in _OWN and self.attributes.get(name, _OWN) is not value:
                    copy.__dict__[name] = _rebound(value, self.module, copy)
            for name in self.attributes.keys() - now.keys():
                copy.__dict__.pop(name, None)
        self.attributes = dict(now)

    def _follow_hooks(self) -> None:
        for i, (name, table) in enumerate(_hook_tables(self.module).items()):
            if table == self.hooks[i]:
                continue
            for copy in filter(None, (reference() for reference in self.copies)):
                own = copy.__dict__[name]
                for number in self.hooks[i].keys() - table.keys():
                    own.pop(number, None)
                own.update(table)
            self.hooks[i] = dict(table)

    def _follow_tensor(self, i: int) -> None:
        now, seen = self.tensors[i].__dict__, self.tensor_attributes[i]
        if _is_same(now, seen):
            return
        places = [(table, name) for table in ("_parameters", "_buffers") for name, x in self.module.__dict__[table].items() if x is self.tensors[i]]
        for copy in filter(None, (reference() for reference in self.copies)):
            own = copy.__dict__[places[0][0]][places[0][1]].__dict__
            for name in seen.keys() - now.keys():
                own.pop(name, None)
            own.update(now)
        self.tensor_attributes[i] = dict(now)


def _hook_tables(module: torch.nn.Module) -> dict[str, dict[int, Any]]:
    """The tables in which PyTorch keeps a module's hooks, by their names."""
    return {name: value for name, value in module.__dict__.items() if "_hooks" in name and isinstance(value, dict)}


class _Table(dict[str, Any]):
    """A copy's parameters or buffers, which notes when a forward has assigned another one."""

    def __init__(self, tensors: dict[str, Any], own: dict[str, Any], device: int, changed: list[_Table]):
        super().__init__(tensors)
        self.device = device  # the copy's, counted from 0
        self._began, self._own, self._changed = dict(tensors), own, changed

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self._changed.append(self)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self._changed.append(self)

    @property
    def place(self) -> int:
        """The same for the copies of one table of the module."""
        return id(self._own)

    def differs(self) -> bool:
        return not _is_same(self, self._began)

    def bring(self) -> None:
        """Gives the module what was assigned or deleted."""
        with torch.no_grad():
            for name, value in self.items():
                old = self._own.get(name)
                if value is self._began.get(name):
                    continue
                if value is not None and old is not None and (old.shape, old.dtype) == (value.shape, value.dtype):
                    old.copy_(value)
                else:
                    home = next((x.device for x in self._own.values() if x is not None), torch.device("cpu"))
                    self._own[name] = None if value is None else value.detach().to(home, copy=True)
        for name in self._began.keys() - self.keys():
            self._own.pop(name, None)

    def reset(self) -> None:
        """The tensors that it began with, whose memory the devices know."""
        self.clear()
        self.update(self._began)


def _replicate(module: Any) -> Any:
    """A shallow copy without parameters, in PyTorch's way, which modules override."""
    return module._replicate_for_data_parallel()


def _rebound(value: Any, module: torch.nn.Module, copy: torch.nn.Module) -> Any:
    """A method of the module as the copy's, so that `module.forward = ...` runs on the copy's device."""
    if isinstance(value, types.MethodType) and value.__self__ is module:
        return types.MethodType(value.__func__, copy)
    return value


def check_copyable(module: torch.nn.Module) -> None:
    """Raises InvalidArgument for a module whose code is bound to its own tensors by torch.jit or torch.compile, alone or as a part."""
    for path, part in module.named_modules():
        _check_part(part, path)


def _check_part(part: torch.nn.Module, path: str) -> None:
    name = repr(path) if path else "the module"
    if isinstance(part, torch.jit.ScriptModule):
        raise InvalidArgument(
            f"DataParallel: {name} was scripted or traced by torch.jit, and has no Python that could be run on copies of its tensors; "
            "wrap the module that it was made of, and script that after training"
        )
    if part._compiled_call_impl is not None or "_orig_mod" in part._modules:
        raise InvalidArgument(
            f"DataParallel: {name} was compiled by torch.compile, whose code runs on the tensors of that module alone and not on copies of "
            "them; wrap the module as it was before, and call torch.compile on functions that its forward calls"
        )


def copy_parts(
    module: torch.nn.Module,
    parameter: Callable[[torch.Tensor], torch.Tensor],
    buffer: Callable[[torch.Tensor], torch.Tensor],
) -> dict[int, torch.nn.Module]:
    """Copies of a module's parts by the ids of the parts, that of the module itself among them.

    A copy's tensors are what `parameter` and `buffer` make of the module's; tied tensors are made once.

    Raises RuntimeError for a lazy module that has not seen a batch, and InvalidArgument for one of torch.jit.
    """
    check_copyable(module)
    made: dict[int, torch.Tensor] = {}

    def once(x: torch.Tensor, make: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        if id(x) not in made:
            made[id(x)] = make(x)
        return made[id(x)]

    copies = {id(part): _replicate(part) for part in module.modules()}
    for part in module.modules():
        copy = copies[id(part)]
        for name, value in list(copy.__dict__.items()):
            copy.__dict__[name] = _rebound(value, part, copy)
        for name, table in _hook_tables(part).items():
            copy.__dict__[name] = table.copy()  # a forward may register some on its copy
        for name, child in part._modules.items():
            copy._modules[name] = None if child is None else copies[id(child)]
        for name, x in part._buffers.items():
            copy._buffers[name] = None if x is None else once(x, buffer)
        for name, x in part._parameters.items():
            if x is None:
                copy._parameters[name] = None
                continue
            setattr(copy, name, once(x, parameter))  # modules may do more: an LSTM has a list of its weights
            if name in copy.__dict__:  # the tensor is no Parameter, but a result of the module's
                copy._parameters[name] = copy.__dict__.pop(name)
    return copies


class Copies:
    """Makes copies of a module, one for each device, and lets them follow it.

    A copy shares the module's attributes but its parameters, buffers and parts, as the replicas of torch.nn.DataParallel
    do. It lives from one call to the next.
    """

    def __init__(self, module: torch.nn.Module):
        self.module = module
        self._parts: list[_Part] = []
        self._changed: list[_Table] = []

    def make(self) -> Any:
        """A copy, whose values do not matter. Called by the extension module."""
        parts = {id(part.module): part for part in self._read_parts()}
        copies = copy_parts(self.module, _empty_parameter, _empty)
        for path, module in self.module.named_modules():
            copy = copies[id(module)]
            copy.__dict__["_tandem_path"] = path
            parts[id(module)].add(copy, self._changed)
        return copies[id(self.module)]

    def follow(self) -> bool:
        """Brings changed attributes to the copies.

        Returns whether parameters, buffers or parts were added, replaced or removed, so that other copies must be made.
        """
        if not self._parts or not all(part.has_same_tables() for part in self._parts):
            self._parts = []
            check_copyable(self.module)
            for x in tensors_of(self.module):
                check_supported(x.device)
            return True
        for part in self._parts:
            part.follow()
        return False

    def settle(self, keep: bool) -> None:
        """Called after each call: tensors that a forward has assigned come from the first device's copy to the module.

        keep  False: the call has failed, or trains nothing.
        """
        if not self._changed:
            return
        tables = sorted({id(table): table for table in self._changed}.values(), key=lambda table: table.device)
        self._changed.clear()
        brought = set()
        for table in filter(_Table.differs, tables):
            if keep and table.place not in brought:
                table.bring()
                brought.add(table.place)
            table.reset()

    def _read_parts(self) -> list[_Part]:
        if not self._parts:
            self._parts = [_Part(module, path) for path, module in self.module.named_modules()]
        return self._parts


def _empty(x: torch.Tensor) -> torch.Tensor:
    return _of_class(x, _memory_for(x))


def _empty_parameter(x: torch.Tensor) -> torch.Tensor:
    if type(x) in (torch.nn.Parameter, torch.Tensor):
        return _with_attributes(x, torch.nn.Parameter(_memory_for(x), requires_grad=x.requires_grad))
    return _of_class(x, _memory_for(x)).requires_grad_(x.requires_grad)


def _memory_for(x: torch.Tensor) -> torch.Tensor:
    with torch._C.DisableTorchFunctionSubclass():
        return torch.empty_like(x, device="cpu", requires_grad=False)


def _of_class(x: torch.Tensor, data: torch.Tensor) -> torch.Tensor:
    """`data` as a tensor of the program's own class, if `x` is one."""
    return _with_attributes(x, data if type(x) is torch.Tensor else torch.Tensor._make_subclass(type(x), data))


def _with_attributes(x: torch.Tensor, copy: torch.Tensor) -> torch.Tensor:
    copy.__dict__.update(x.__dict__)
    return copy
