# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The causes that memory of a GPU may have, and the category of docs/memory.md that each belongs to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

PARAMETER = "parameter"
PARAMETER_COPY = "parameter copy"
KEPT_COPY = "kept copy of a parameter"
PARAMETER_16_BIT = "parameter in 16 bit"
BUFFER = "buffer"
GRADIENT = "gradient"
GRADIENT_OF_COPY = "gradient of a copy"
GRADIENT_OF_OUTPUT = "gradient of an output"
GRADIENT_OF_ACTIVATION = "gradient of an activation"
OPTIMIZER_STATE = "optimizer state"
INPUT = "input"
SAVED = "saved activation"
RECOMPUTED = "recomputed activation"
GATHERED_OUTPUT = "gathered output"
OUTPUT = "output"
LOSS_SAVED = "saved by the loss"
LOSS_BACKWARD = "loss's own backward"
DDP_BUCKET = "DDP bucket"
EXCHANGE = "buffer of an exchange"
GRADIENT_SUM = "sum of copies' gradients"
CUBLAS = "cuBLAS workspace"
CUDNN = "cuDNN workspace"
WORKSPACE = "workspace of an op"
UPDATE_WORKSPACE = "workspace of the update"
HELD = "held by the program"
UNNAMED = "unnamed"
ROUNDING = "rounding"

# The first of a block's causes counts: what holds memory for longest comes first.
CATEGORIES = {
    OPTIMIZER_STATE: "optimizer",
    DDP_BUCKET: "communication",
    GRADIENT: "gradient",
    PARAMETER: "parameter",
    BUFFER: "buffer",
    KEPT_COPY: "parameter",
    PARAMETER_COPY: "parameter",
    PARAMETER_16_BIT: "parameter",
    INPUT: "input",
    GATHERED_OUTPUT: "output",
    OUTPUT: "output",
    GRADIENT_OF_COPY: "gradient",
    GRADIENT_OF_OUTPUT: "output_gradient",
    LOSS_BACKWARD: "activation",
    GRADIENT_OF_ACTIVATION: "activation",
    LOSS_SAVED: "activation",
    RECOMPUTED: "activation",
    SAVED: "activation",
    GRADIENT_SUM: "communication",
    EXCHANGE: "communication",
    CUBLAS: "workspace",
    CUDNN: "workspace",
    WORKSPACE: "workspace",
    UPDATE_WORKSPACE: "workspace",
    HELD: "held",
    UNNAMED: "unnamed",
    ROUNDING: "rounding",
}
PRIORITY = {cause: place for place, cause in enumerate(CATEGORIES)}
OF_REPLICAS = (PARAMETER_COPY, KEPT_COPY, GRADIENT_OF_COPY)  # that nothing else has
OF_TANDEM = (KEPT_COPY, EXCHANGE)  # that its wrapper alone has
# What a loss of gathered outputs takes on the GPU where it is computed.
OF_THE_LOSS = (LOSS_SAVED, LOSS_BACKWARD, GRADIENT_OF_OUTPUT, GATHERED_OUTPUT)


def by_category(by_cause: Mapping[str, int]) -> dict[str, int]:
    """Bytes by category, the largest first."""
    sums: Counter[str] = Counter()
    for cause, nbytes in by_cause.items():
        sums[CATEGORIES[cause]] += nbytes
    return dict(sums.most_common())
