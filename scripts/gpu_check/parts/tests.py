# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Part tests: every test that runs on any device, on one GPU, on several and through NCCL."""

from ..googletest import Program

# The folders whose tests run on any device (tests/CMakeLists.txt).
PROGRAMS = ["tensor", "autograd", "ops", "nn", "optim", "comm", "profile", "explain", "parallel", "train", "oracles"]
QUICK_PROGRAMS = ["ops", "comm"]
QUICK_TIMEOUT = 300
ONE_GPU = ["cuda:0", "cuda:0x2", "cuda:0x4", "cuda:0x8"]
QUICK_ONE_GPU = ["cuda:0", "cuda:0x4"]
SEVERAL = ["comm", "parallel", "train"]  # what asks most of several GPUs
NCCL = ["comm", "parallel"]


def programs(plan):
    return QUICK_PROGRAMS if plan.quick else PROGRAMS


def on(plan, label, devices, folders, environment=None, skip=None):
    return [Program(plan, "tests", f"tests/{label}/{folder}", folder, devices, environment or {},
                    timeout=QUICK_TIMEOUT if plan.quick else 500, skip=skip).step() for folder in folders]


def several_gpus(plan):
    """Copies between GPUs, directly and through the host, and peers."""
    steps = on(plan, "all_gpus", plan.all_gpus(), QUICK_PROGRAMS if plan.quick else ["ops", *SEVERAL], skip=plan.needs_several)
    if plan.quick:
        return steps

    def needs_three(state):
        return plan.needs_several(state) or ("" if len(plan.gpus) > 2 else "the same as all_gpus: two GPUs")
    return [*steps, *on(plan, "two_gpus", "cuda:0,cuda:1", SEVERAL, skip=needs_three),
            *on(plan, "two_gpus_x2", "cuda:0x2,cuda:1x2", SEVERAL, skip=plan.needs_several)]


def nccl(plan):
    """NCCL as it comes; with all kernels loaded at the start, which NCCL's must not wait for; and without peers."""
    backend = {"TANDEM_TEST_BACKEND": "nccl"}
    steps = on(plan, "nccl", plan.all_gpus(), NCCL[:1] if plan.quick else NCCL, backend, plan.needs_nccl)
    if plan.quick:
        return steps
    return [*steps,
            *on(plan, "nccl_eager", plan.all_gpus(), NCCL, {**backend, "CUDA_MODULE_LOADING": "EAGER"}, plan.needs_nccl),
            *on(plan, "nccl_no_peers", plan.all_gpus(), NCCL[:1], {**backend, "NCCL_P2P_DISABLE": "1"}, plan.needs_nccl)]


def steps(plan):
    one = [step for devices in (QUICK_ONE_GPU if plan.quick else ONE_GPU)
           for step in on(plan, devices.replace(":", "_"), devices, programs(plan))]
    return [*one, *several_gpus(plan), *nccl(plan)]
