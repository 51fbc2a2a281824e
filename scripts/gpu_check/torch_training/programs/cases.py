# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own cases of DataParallel, with tandem's wrapper on four logical devices of GPU 0: cases.py FILE

A case that tells GPUs apart needs two of them. Its source is no part of tandem: scripts/torch-acceptance fetches it.
"""

import json
import pathlib
import re
import sys
import types
import unittest

import torch
from telling import tell
from torch_acceptance.python_cases import Report, stand_in_for_expecttest

import tandem
import tandem.parallel

# All GPUs are the first one, which has four devices. The last two are results that newer ones have changed (pull request 170185).
CHANGES = [(r"from \S+ import sandcastle_skip_if", "from unittest import skipIf as sandcastle_skip_if"), (r"cuda:1\b", "cuda:0"),
           (r"\.cuda\(1\)", ".cuda(0)"), (r"torch\.cuda\.device_count\(\)", "4"), (r"import TEST_MULTIGPU, TEST_CUDA", "import TEST_CUDA; TEST_MULTIGPU = True")]
if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 11):
    CHANGES += [(r"torch\.Size\(\[1, 10, 2\]\)", "torch.Size([1, 10])"), (r"torch\.view_as_real\(input\)", "input")]
TELL_GPUS_APART = {"test_data_parallel", "test_data_parallel_sparse", "test_data_parallel_model_device", "test_scatter_cpu", "test_scatter_gpu", "test_replicate",
                   "test_replicate_buffers", "test_save_replica_module"}


def wrapped(module, device_ids=None, output_device=None, dim=0):
    """As many devices of GPU 0 as GPUs were meant."""
    count = 4 if device_ids is None else len(device_ids)
    return tandem.DataParallel(module, devices=f"cuda:0x{count}" if count > 1 else "cuda:0", output_device="cuda:0", dim=dim, deadline=60.0)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    arguments = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return wrapped(module, device_ids, output_device, dim)(*arguments, **(module_kwargs or {}))


class Cases(Report):
    """Tells what each came to, as soon as it is known."""

    def __init__(self):
        super().__init__(None)
        self.counts = {"pass": 0, "fail": 0, "skip": 0}

    def write(self, test, result, text=""):
        self.counts[result] += 1
        name = test.id().rsplit(".", 1)[1]
        if result == "fail":
            tell(name, f"{name} fails: {text.strip().splitlines()[-1]}", text=text[-2000:])
        else:
            print(json.dumps({"subject": name, "result": result}), flush=True)


def load(path):
    stand_in_for_expecttest()
    text = pathlib.Path(path).read_text(encoding="utf-8")
    for pattern, replacement in CHANGES:
        text = re.sub(pattern, replacement, text)
    module = types.ModuleType("pytorch_cases")
    sys.modules[module.__name__] = module
    exec(compile(text, "pytorch_cases.py", "exec"), module.__dict__)
    return module


def main():
    path = sys.argv[1]
    sys.argv = sys.argv[:1]
    torch.nn.DataParallel = torch.nn.parallel.DataParallel = wrapped
    torch.nn.parallel.data_parallel = data_parallel
    torch.nn.parallel.gather = tandem.parallel.gather
    cases, suite = Cases(), unittest.TestSuite()
    for group in unittest.defaultTestLoader.loadTestsFromModule(load(path)):
        suite.addTests(test for test in group if test.id().rsplit(".", 1)[1] not in TELL_GPUS_APART)
    suite.run(cases)
    passed, failed = cases.counts["pass"], cases.counts["fail"]
    tell("all", f"{passed} of {passed + failed} cases pass on cuda:0x4; {len(TELL_GPUS_APART)} more need two GPUs", **cases.counts)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
