# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel of PyTorch in processes of its own, to be compared with."""

from __future__ import annotations

import copy
import multiprocessing
import multiprocessing.connection
import os
import pickle
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from tandem._batches import moved, rows_of, share_of
from tandem.errors import Error, InvalidArgument, Timeout

# Python starts a process and imports PyTorch in it, which takes seconds; a step that takes longer is none of a laptop's.
_DEADLINE_S = 600.0


@dataclass(frozen=True)
class _Training:
    """What each process does."""

    model: nn.Module
    loss: Callable[[nn.Module, Any], torch.Tensor]
    optimizer: type[torch.optim.Optimizer]
    options: dict[str, Any]
    steps: int
    backend: str
    gpus: list[torch.device]  # empty: on the host

    def pickled(self) -> bytes:
        """Refuses what another process cannot import."""
        advice = "a process of DDP imports the model's class and the loss: define both at the top of a file"
        try:
            payload = pickle.dumps(self)
        except Exception as error:
            raise InvalidArgument(f"compare: {error}; {advice}") from error
        if not hasattr(sys.modules["__main__"], "__file__") and b"__main__" in payload:
            raise InvalidArgument(f"compare: the model or the loss is defined in a notebook or a console; {advice}")
        return payload


@dataclass(frozen=True)
class Trained:
    """What the processes did: milliseconds of each step, and the values of the state dict at the end."""

    step_ms: list[float]
    values: dict[str, torch.Tensor]


def backend_for(devices: Sequence[torch.device]) -> str:
    """What processes of DDP talk by: nccl for GPUs, of which the stand-in's reaches no other process."""
    return "nccl" if devices[0].type == "cuda" and "TANDEM_STAND_IN_OPS" not in os.environ else "gloo"


def _train(rank: int, world: int, training: _Training, batch: Any, weight: float, tell: Callable[[Any], None]) -> None:
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // world))
    gpu = training.gpus[rank % len(training.gpus)] if training.gpus else None
    if gpu is not None:
        torch.cuda.set_device(gpu)
        training.model.to(gpu)
        batch = moved(batch, gpu)
    model = nn.parallel.DistributedDataParallel(training.model)
    optimizer = training.optimizer(model.parameters(), **training.options)
    for _ in range(training.steps):
        dist.barrier()
        begin = time.perf_counter()
        optimizer.zero_grad()
        (weight * training.loss(model, batch)).backward()
        optimizer.step()
        if gpu is not None:
            torch.cuda.synchronize(gpu)
        tell(1e3 * (time.perf_counter() - begin))
    if rank == 0:
        tell(pickle.dumps(dict(training.model.cpu().state_dict())))  # by value: this process ends before they are read


def _run_rank(
    rank: int, world: int, folder: str, training: bytes, batch: bytes, weight: float, connection: Connection
) -> None:
    """A process. It sends the times of its steps as numbers, its result as bytes, and why it failed as a string."""
    try:
        timeout = timedelta(seconds=_DEADLINE_S)
        asked = pickle.loads(training)
        dist.init_process_group(asked.backend, init_method=f"file://{folder}/store", rank=rank, world_size=world, timeout=timeout)
        _train(rank, world, asked, pickle.loads(batch), weight, connection.send)
        dist.destroy_process_group()
    except BaseException:
        connection.send(traceback.format_exc())
        raise SystemExit(1) from None
    connection.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # all has been said, and PyTorch 2.15's gloo aborts now and then in a process that ends by itself


def _messages(connections: list[Connection], processes: list[Any]) -> Any:
    """Pairs of rank and message, until all processes have ended."""
    waiting = {connection: rank for rank, connection in enumerate(connections)}
    while waiting:
        ready = multiprocessing.connection.wait(list(waiting), _DEADLINE_S)
        if not ready:
            raise Timeout(f"compare: no process of DDP made a step for {_DEADLINE_S:g} s; try fewer rows or a smaller model")
        for connection in (connection for connection in connections if connection in ready):
            rank = waiting[connection]
            try:
                yield rank, connection.recv()
            except EOFError:
                del waiting[connection]
                processes[rank].join(_DEADLINE_S)
                if processes[rank].exitcode != 0:
                    raise Error(
                        f"compare: process {rank} of DDP ended with exit code {processes[rank].exitcode}; its last output "
                        "says why. A script that calls compare does so below: if __name__ == '__main__'"
                    ) from None


def _start(context: Any, rank: int, world: int, folder: str, training: bytes, batch: Any) -> tuple[Any, Connection]:
    share = share_of(batch, rank, world)
    # DDP divides the sum of the gradients by the number of processes, whatever the rows of each.
    weight = rows_of(share) * world / rows_of(batch)
    connection, theirs = context.Pipe(duplex=False)
    on_host = pickle.dumps(moved(share, torch.device("cpu")))
    process = context.Process(target=_run_rank, args=(rank, world, folder, training, on_host, weight, theirs), daemon=True)
    process.start()
    theirs.close()
    return process, connection


def train_with_ddp(
    world: int,
    gpus: list[torch.device],
    backend: str,
    model: nn.Module,
    batch: Any,
    loss: Callable[[nn.Module, Any], torch.Tensor],
    optimizer: type[torch.optim.Optimizer],
    options: dict[str, Any],
    steps: int,
    tell: Callable[[int], None],
) -> Trained:
    """Trains a copy of the model by DistributedDataParallel in `world` new processes, on GPUs if there are some.

    The rows are split equally. A step's time is that of its slowest process. tell(step) is called after each.

    Raises InvalidArgument for fewer rows than processes, for fewer GPUs over nccl, and for a model or a loss that cannot be imported elsewhere, Error
    for a process that fails, and Timeout.
    """
    if world > rows_of(batch):
        raise InvalidArgument(f"compare: {world} processes of DDP for {rows_of(batch)} rows; give each a row at least")
    if backend == "nccl" and world > len(gpus):
        raise InvalidArgument(f"compare: {world} processes of DDP over nccl for {len(gpus)} GPUs, and nccl takes one for each GPU; give "
                              f"ddp_processes={len(gpus)}, or more GPUs")
    training = _Training(copy.deepcopy(model).to("cpu"), loss, optimizer, options, steps, backend, gpus).pickled()
    context = multiprocessing.get_context("spawn")  # autograd refuses a process that was forked after its threads began
    times: list[list[float]] = [[] for _ in range(world)]
    values: dict[str, torch.Tensor] = {}
    processes, connections = [], []
    with tempfile.TemporaryDirectory(prefix="tandem-ddp-") as folder:
        try:
            for rank in range(world):
                process, connection = _start(context, rank, world, folder, training, batch)
                processes.append(process)
                connections.append(connection)
            for rank, message in _messages(connections, processes):
                if isinstance(message, str):
                    raise Error(f"compare: process {rank} of DDP failed:\n{message}")
                if isinstance(message, bytes):
                    values = pickle.loads(message)
                    continue
                times[rank].append(message)
                if rank == 0:
                    tell(len(times[0]))
        finally:
            for process in processes:
                process.kill()
                process.join(_DEADLINE_S)
            for connection in connections:
                connection.close()
    return Trained([max(step) for step in zip(*times)], values)
