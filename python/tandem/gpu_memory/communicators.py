# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What NCCL's communicators take, by a difference: the GPU's memory before and after the calls of PyTorch that make them first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from tandem.gpu_memory.module_paths import DATA_PARALLEL


class Communicators:
    """Replaces two methods while it is attached: the copying of a module to several GPUs, and the construction of DistributedDataParallel."""

    def __init__(self) -> None:
        self.nbytes: Counter[int] = Counter()  # by GPU
        self._seen: set[tuple[str, frozenset[int]]] = set()  # methods, and the GPUs that they were called for
        self._former: list[tuple[type, str, Callable[..., Any]]] = []

    def attach(self) -> None:
        """Has no effect while it is attached."""
        if not self._former:
            self._replace(DATA_PARALLEL, "replicate", lambda own, module, device_ids: device_ids)
            self._replace(DistributedDataParallel, "__init__", _gpus_of_module)

    def detach(self) -> None:
        for owner, name, former in self._former:
            setattr(owner, name, former)
        self._former = []

    def _replace(self, owner: type, name: str, gpus_of: Callable[..., Iterable[Any]]) -> None:
        former = getattr(owner, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            gpus = frozenset(gpu if isinstance(gpu, int) else torch.device(gpu).index for gpu in gpus_of(*args, **kwargs))
            if (name, gpus) in self._seen:
                return former(*args, **kwargs)
            self._seen.add((name, gpus))
            before = _outside(gpus)
            result = former(*args, **kwargs)
            self.nbytes.update({gpu: max(nbytes - before[gpu], 0) for gpu, nbytes in _outside(gpus).items()})
            return result

        watched.__wrapped__ = former  # type: ignore[attr-defined]
        setattr(owner, name, watched)
        self._former.append((owner, name, former))


def _gpus_of_module(_: Any, module: torch.nn.Module, *args: Any, **kwargs: Any) -> set[int]:
    return {x.device.index for x in module.parameters() if x.is_cuda}


def _outside(gpus: Iterable[int]) -> dict[int, int]:
    """Bytes that are in use on a GPU, and not by PyTorch's allocator."""
    found = {}
    for gpu in gpus:
        free, total = torch.cuda.mem_get_info(gpu)
        found[gpu] = total - free - torch.cuda.memory_reserved(gpu)
    return found
