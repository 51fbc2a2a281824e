# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What to do about a full GPU: for each large extra of the fullest one a sentence with the remedy and what it would save."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tandem.gpu_memory import causes
from tandem.gpu_memory.balance import balance
from tandem.gpu_memory.report import Gpu, GpuMemory
from tandem.gpu_memory.text import size

_LARGE = 0.05  # of a peak
_BUCKET = 25 << 20  # bytes of a sum in buckets, of which one is on its way
_AT_ONCE = (causes.GRADIENT_OF_COPY, causes.GRADIENT_SUM)


class Remedy(NamedTuple):
    """What to do, the bytes of the fullest GPU that it frees, and the sentence that says so."""

    name: str
    saves: int
    sentence: str


def remedies(report: GpuMemory) -> list[Remedy]:
    """The largest saving first; none, where nothing large can be saved."""
    if not report.gpus:
        return []
    first = max(report.gpus, key=lambda gpu: gpu.peak_bytes)
    found = [*_for_replicas(report, first), *_for_each(first)]
    return sorted((remedy for remedy in found if remedy.saves >= _LARGE * first.peak_bytes), key=lambda remedy: -remedy.saves)


def _for_replicas(report: GpuMemory, first: Gpu) -> Iterator[Remedy]:
    others = [gpu for gpu in report.gpus if gpu is not first]
    if not any(cause in gpu.by_cause for gpu in others for cause in causes.OF_REPLICAS):
        return
    count = len(report.gpus)
    has = first.by_cause
    loss = sum(has.get(cause, 0) for cause in causes.OF_THE_LOSS)
    failed = report.failure
    if failed and failed.gpu == first.index and first.phase in ("gather", "loss"):
        loss += failed.asked_bytes  # it would have been part of them
    spread = loss - loss // count
    outputs = has.get(causes.GATHERED_OUTPUT, 0)
    if loss > outputs or failed:
        yield Remedy("loss in the forward", spread, (
            f"{size(loss)} of {first.name} are the gathered outputs, the loss of them and its gradients: compute the loss in the model's "
            f"forward, so that each GPU has its share and {size(spread)} of {first.name} become free; tandem.DataParallel does it by step(batch, loss, optimizer)"))
    else:
        freed = _freed(first, causes.GATHERED_OUTPUT)
        yield Remedy("fewer outputs", freed, (
            f"{size(outputs)} of {first.name} are gathered outputs, while the loss is computed elsewhere: return the loss alone, which frees {size(freed)}"))
    state = has.get(causes.OPTIMIZER_STATE, 0) - max(gpu.by_cause.get(causes.OPTIMIZER_STATE, 0) for gpu in others)
    moved = state + has.get(causes.UPDATE_WORKSPACE, 0)
    shared = min(_freed(first, causes.OPTIMIZER_STATE, causes.UPDATE_WORKSPACE, left=1 / count), moved - moved // count) if state > 0 else 0
    yield Remedy("sharded optimizer", shared, (
        f"{size(state)} of {first.name} are the optimizer's state, which no other GPU has: tandem.DataParallel(mode=\"sharded\") with "
        f"tandem.Optimizer divides it, and the workspace of its update, among {count} GPUs, which frees {size(shared)}"))
    whole = sum(has.get(cause, 0) for cause in _AT_ONCE)
    if not any(cause in gpu.by_cause for gpu in report.gpus for cause in causes.OF_TANDEM):
        saved = min(whole - min(whole, _BUCKET), _freed(first, *_AT_ONCE))
        yield Remedy("buckets", saved, (
            f"{size(whole)} of {first.name} are the gradients of its copy, which wait until all are there, beside their sums: "
            "step(batch, loss, optimizer) of tandem.DataParallel, and DistributedDataParallel with gradient_as_bucket_view=True, add them in "
            f"buckets of 25 MiB, which frees {size(saved)}"))
    if causes.PARAMETER not in has:
        return  # a file that does not know the parameters, nor how the rows were cut
    apart = spread + whole - has.get(causes.PARAMETER, 0)
    yield Remedy("a process for each GPU", apart, (
        f"DistributedDataParallel, with a process for each GPU, gathers nothing on {first.name}: it frees {size(spread + whole)} there, and takes "
        f"{size(has.get(causes.PARAMETER, 0))} for its buckets, which gradient_as_bucket_view=True saves again"))
    cut = balance(report)
    if cut:
        most = f"; the largest batch with it is about {cut.largest_batch} rows" if cut.largest_batch is not None else ""
        yield Remedy("gpu0_bsz", first.peak_bytes - max(cut.first_peak, cut.other_peak), (
            f"tandem.DataParallel(gpu0_bsz={cut.gpu0_bsz}) evens out the rows: of {cut.rows} {first.name} then has {cut.gpu0_bsz}, and peaks at about "
            f"{size(cut.first_peak)}, the others at {size(cut.other_peak)}{most}"))


def _for_each(gpu: Gpu) -> Iterator[Remedy]:
    has = gpu.by_cause
    saved = has.get(causes.SAVED, 0)
    if gpu.recomputable_bytes:
        yield Remedy("recomputation", gpu.recomputable_bytes, (
            f"{size(saved)} of {gpu.name} are saved for backward: recomputation of each repeated block (torch.utils.checkpoint, "
            f"gradient_checkpointing=True) frees about {size(gpu.recomputable_bytes)}, and costs a second forward of them"))
    if causes.PARAMETER_16_BIT not in has:
        halved = saved // 2 - has.get(causes.PARAMETER, 0) // 2
        yield Remedy("16 bit", halved, (
            f"torch.autocast in bfloat16 halves most of the {size(saved)} that {gpu.name} saves for backward, and keeps the weights in 16 bit, too: "
            f"that frees about {size(halved)}"))
    held = _freed(gpu, causes.HELD)
    yield Remedy("let go", held, (
        f"{size(has.get(causes.HELD, 0))} of {gpu.name} are tensors that the program holds through the step: del them, or keep loss.item() in place "
        f"of the loss, which frees {size(held)}"))


def _freed(gpu: Gpu, *of: str, left: float = 0) -> int:
    """By how much the peak falls if a part of these causes is left: up to the next moment that is as full."""
    instants = [at.by_cause for at in gpu.line] or [gpu.by_cause]
    fullest = max(sum(nbytes * (left if cause in of else 1) for cause, nbytes in has.items() if cause != causes.ROUNDING) for has in instants)
    return gpu.peak_bytes - gpu.by_cause.get(causes.ROUNDING, 0) - round(fullest)
