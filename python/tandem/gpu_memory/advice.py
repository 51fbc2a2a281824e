# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What to do about a full GPU: for each large extra of the first GPU a sentence with the remedy and what it would save."""

from __future__ import annotations

from tandem.gpu_memory import causes
from tandem.gpu_memory.balance import balance
from tandem.gpu_memory.report import Gpu, GpuMemory
from tandem.gpu_memory.text import size

_LARGE = 0.05  # of a peak


def advice(report: GpuMemory) -> list[str]:
    """Sentences, the largest saving first; none, where nothing large can be saved."""
    if not report.gpus:
        return []
    first = max(report.gpus, key=lambda gpu: gpu.peak_bytes)
    found = [*_for_replicas(report, first), *_for_each(first)]
    return [sentence for saved, sentence in sorted(found, key=lambda f: -f[0]) if saved >= _LARGE * first.peak_bytes]


def _for_replicas(report: GpuMemory, first: Gpu) -> list[tuple[int, str]]:
    others = [gpu for gpu in report.gpus if gpu is not first]
    if not any(causes.PARAMETER_COPY in gpu.by_cause for gpu in others):
        return []
    count = len(report.gpus)
    has = first.by_cause
    loss = sum(has.get(cause, 0) for cause in causes.OF_THE_LOSS)
    spread = loss - loss // count
    failed = report.failure
    if failed and failed.gpu == first.index and first.phase in ("gather", "loss"):
        loss += failed.asked_bytes  # it would have been part of them
        spread = loss - loss // count
    found = [(spread, (
        f"{size(loss)} of {first.name} are the gathered outputs, the loss of them and its gradients: compute the loss in the model's "
        f"forward, so that each GPU has its share and {size(spread)} of {first.name} become free; tandem.DataParallel does it by step(batch, loss, optimizer)"))]
    state = has.get(causes.OPTIMIZER_STATE, 0)
    shared = state - state // count
    found.append((shared, (
        f"{size(state)} of {first.name} are the optimizer's state, which no other GPU has: tandem.DataParallel(mode=\"sharded\") divides it "
        f"among {count} GPUs, which frees {size(shared)}")))
    sums = has.get(causes.GRADIENT_SUM, 0)
    found.append((sums, (
        f"{size(sums)} of {first.name} hold the sum of all gradients at once: DistributedDataParallel and tandem.DataParallel add them "
        f"in buckets of 25 MiB, which frees most of it")))
    cut = balance(report)
    if cut:
        most = f"; the largest batch with it is about {cut.largest_batch} rows" if cut.largest_batch is not None else ""
        found.append((first.peak_bytes - max(cut.first_peak, cut.other_peak), (
            f"tandem.DataParallel(gpu0_bsz={cut.gpu0_bsz}) evens out the rows: of {cut.rows} {first.name} then has {cut.gpu0_bsz}, and peaks at about "
            f"{size(cut.first_peak)}, the others at {size(cut.other_peak)}{most}")))
    return found


def _for_each(gpu: Gpu) -> list[tuple[int, str]]:
    has = gpu.by_cause
    saved = has.get(causes.SAVED, 0)
    found = [(saved // 2, (
        f"{size(saved)} of {gpu.name} are saved for backward: recomputation (torch.utils.checkpoint, gradient_checkpointing=True) of half of "
        f"the layers frees about {size(saved // 2)}, and costs a forward of them"))]
    if causes.PARAMETER_16_BIT not in has:
        found.append((saved // 2, (
            f"torch.autocast in bfloat16 halves most of the {size(saved)} that {gpu.name} saves for backward, which frees up to {size(saved // 2)}")))
    held = has.get(causes.HELD, 0)
    found.append((held, (
        f"{size(held)} of {gpu.name} are tensors that the program holds through the step: del them, or keep loss.item() in place of the loss, "
        f"which frees {size(held)}")))
    return found
