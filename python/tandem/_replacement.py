# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""For programs that wrap their module by themselves."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

from torch import nn

from tandem.data_parallel import DataParallel

# torch.nn.parallel.data_parallel is a function, which hides the module of that name.
_PLACES = (nn, nn.parallel, importlib.import_module("torch.nn.parallel.data_parallel"))


@contextlib.contextmanager
def replace_data_parallel(**options: Any) -> Iterator[None]:
    """Until the end of the block torch.nn.DataParallel(module) makes a tandem.DataParallel, with these options.

        with tandem.replace_data_parallel(gpu0_bsz=40):
            train()                     # which calls torch.nn.DataParallel(model)

    Options that the program gives itself take precedence. The wrappers that it made stay what they are after the block.
    The name is replaced for the whole process; what was imported from torch.nn before the block is not.
    """

    class Replacement(DataParallel):
        def __init__(self, module: nn.Module, *args: Any, **kwargs: Any) -> None:
            super().__init__(module, *args, **(options | kwargs))

        def __reduce__(self) -> tuple[Any, ...]:
            make, (kind,), state = super().__reduce__()
            return make, (DataParallel if kind is Replacement else kind,), state

    before = [place.DataParallel for place in _PLACES]
    for place in _PLACES:
        setattr(place, "DataParallel", Replacement)
    try:
        yield
    finally:
        for place, name in zip(_PLACES, before):
            setattr(place, "DataParallel", name)
