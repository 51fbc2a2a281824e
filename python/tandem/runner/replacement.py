# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The option --replace: a program's torch.nn.DataParallel becomes tandem's, with options that are given as text."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any
from unittest import mock

from tandem.errors import InvalidArgument

_EXAMPLE = "such as --replace gpu0_bsz=40,mode=sharded"
_CHUNKS = ("even", "torch chunk", "free memory", "planned")


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(":")]


def _chunks(text: str) -> str | list[float]:
    """A word, or sizes or weights."""
    return text if text in _CHUNKS else [float(number) for number in text.split(":")]


def _mode(text: str) -> str:
    """As the program spells modes, too: dp-sharded-gradients."""
    return text.replace("-", "_").removeprefix("dp_")


WORDS = {
    "batch_norm": ("synchronised", "per_replica"), "dropout": ("per_device", "by_row"), "on_oom": ("error", "replan"),
    "scalars": ("stack", "mean", "weighted_mean", "sum"), "unused_gradients": ("none", "zeros"),
    "non_finite_loss": ("off", "warn", "error", "skip"), "non_finite_gradients": ("off", "warn", "error", "skip"), "backend": ("local", "nccl"),
}
_KINDS: dict[str, Callable[[str], Any]] = {
    "gpu0_bsz": int, "accumulate": int, "check_drift_every": int, "straggler_ratio": float, "deadline": float, "chunks": _chunks,
    "chunk_sizes": _numbers, "mode": _mode, **dict.fromkeys(WORDS, str),
}


def options_of(text: str, command: str) -> dict[str, Any]:
    """Of "gpu0_bsz=40,mode=sharded"; an empty text has none. `command` is the one that errors name.

    @throws InvalidArgument  an option that DataParallel does not have, or a value that is none.
    """
    options: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise InvalidArgument(f"{command}: --replace {text}: {part} is no OPTION=VALUE; give options, {_EXAMPLE}, or --replace= for none")
        if name not in _KINDS:
            near = get_close_matches(name, _KINDS, 1)
            devices = f"devices are given to {command}: --devices cpu:4" if name in ("devices", "device_ids") else f"there are {', '.join(_KINDS)}"
            raise InvalidArgument(f"{command}: --replace {part}: there is no option {name}; {f'did you mean {near[0]}?' if near else devices}")
        try:
            options[name] = _KINDS[name](value)
        except ValueError:
            numbers = "numbers, such as chunk_sizes=40:72"
            wanted = {"chunks": f"{', '.join(_CHUNKS)} or numbers, such as chunks=1:2", "chunk_sizes": numbers}.get(name, f"a number, {_EXAMPLE}")
            raise InvalidArgument(f"{command}: --replace {part}: {name} is {value!r}; give {wanted}") from None
        if name in WORDS and value not in WORDS[name]:
            raise InvalidArgument(f"{command}: --replace {part}: {name} is {value!r}; give {' or '.join(WORDS[name])}")
    return options


def replacement(text: str, name: str, command: str) -> contextlib.AbstractContextManager[None]:
    """A block in which the program of this name has tandem.DataParallel in the place of torch.nn.DataParallel, with the options of a text.

    @throws InvalidArgument  as options_of, and for a mode that there is not.
    """
    from tandem._compare import MODES, SINGLE, TORCH

    options = options_of(text, command)
    modes = [mode for mode in MODES if mode not in (SINGLE, TORCH)]
    if options.get("mode", modes[0]) not in modes:
        raise InvalidArgument(f"{command}: --replace mode={options['mode']}: there is no such mode; there are {', '.join(modes)}")
    return _replaced(options, name)


@contextlib.contextmanager
def _replaced(options: dict[str, Any], name: str) -> Iterator[None]:
    """Tells what was replaced on stderr, as the program's output is its own."""
    from torch.nn.parallel import DistributedDataParallel

    from tandem import replace_data_parallel
    from tandem.data_parallel import DataParallel

    made: list[str] = []
    left: list[type] = []
    init, init_ddp = DataParallel.__init__, DistributedDataParallel.__init__

    def told(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        made.append(f"{type(self.module).__name__} on {', '.join(self._options['devices'])}")

    def told_ddp(self: Any, *args: Any, **kwargs: Any) -> None:
        left.append(type(self))
        init_ddp(self, *args, **kwargs)

    noted = False
    try:
        with (mock.patch.object(DataParallel, "__init__", told), mock.patch.object(DistributedDataParallel, "__init__", told_ddp),
              replace_data_parallel(**options)):
            yield
    except Exception as failure:
        if not made:  # it helps most below the traceback
            failure.add_note(_outcome(name, made, left))
            noted = True
        raise
    finally:
        if not noted:
            print(_outcome(name, made, left), file=sys.stderr, flush=True)


def _outcome(name: str, made: list[str], left: list[type]) -> str:
    """One line on what became of the wrappers of the program of this name: tandem's `made`, and those that were `left`."""
    what = f"tandem.DataParallel of {'; '.join(dict.fromkeys(made))}" if made else (
        "nothing was replaced: its DistributedDataParallel has one process for each GPU, and is left as it is" if left else
        "nothing was replaced, as it made no torch.nn.DataParallel; where there are no GPUs give --devices cpu:4, and where the program "
        "does not wrap its model add model = torch.nn.DataParallel(model)")
    return f"{os.path.basename(name)}: {what}"
