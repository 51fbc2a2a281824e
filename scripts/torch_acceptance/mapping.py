# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's test/distributed/test_data_parallel.py as a test of tandem: GPUs become virtual devices, and PyTorch's functions tandem's."""

import re

# (what is found, what takes its place), one after the other.
MAPPING = [
    # What these cases ask of PyTorch's test library, and what has gone from it since.
    (r"from \S+ import TEST_MULTIGPU, TEST_CUDA", "TEST_MULTIGPU = TEST_CUDA = True"),
    (r"NO_NCCL = .*", "NO_NCCL = False"),
    (r"from \S+ import sandcastle_skip_if", "from unittest import skipIf as sandcastle_skip_if"),
    (r"\bonlyCUDA, ", ""),
    (r" *@onlyCUDA\n", ""),
    (r"(instantiate_device_type_tests\(\w+, globals\(\))\)", r'\1, only_for="tandem")'),
    # Since PyTorch's pull request 170185 a complex tensor is complex in replicas too, and no longer a real one with a dimension more.
    (r"torch\.Size\(\[1, 10, 2\]\)", "torch.Size([1, 10])"),
    (r"torch\.view_as_real\(input\)", "input"),
    # tandem has the functions of torch.nn.parallel under the same names.
    (r"import torch\.nn\.parallel as dp", "import tandem\nimport tandem.parallel as dp"),
    (r"\b(torch\.)?nn\.parallel\.", "dp."),
    (r"\b(torch\.nn|nn|dp)\.DataParallel\(", "tandem.DataParallel("),
    # Devices.
    (r"from torch\.cuda\.amp import autocast", 'autocast = functools.partial(torch.autocast, "tandem")'),
    (r"torch\.cuda\.amp\.autocast\(\)", 'torch.autocast("tandem")'),
    (r"\btorch\.cuda\b", "torch.tandem"),
    (r"([\"'])cuda\b", r"\1tandem"),
    (r"\.cuda\(", ".tandem("),
    (r"\.is_cuda\b", ".is_tandem"),
]


def mapped(text):
    for pattern, replacement in MAPPING:
        text = re.sub(pattern, replacement, text)
    return text
