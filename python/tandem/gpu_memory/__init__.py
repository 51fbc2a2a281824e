# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Why is GPU 0 full? What filled each GPU in a step of any program of PyTorch on cuda, by cause. Needs no build of tandem."""

from tandem.gpu_memory.advice import Remedy
from tandem.gpu_memory.balance import Balance, balance
from tandem.gpu_memory.batch_model import BatchModel, fit
from tandem.gpu_memory.recorder import Recorder, measure
from tandem.gpu_memory.report import Failure, Gpu, GpuMemory, Instant, Row

__all__ = ["Balance", "BatchModel", "Failure", "Gpu", "GpuMemory", "Instant", "Recorder", "Remedy", "Row", "balance", "fit", "measure"]
