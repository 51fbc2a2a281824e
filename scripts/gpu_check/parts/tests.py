# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Part tests: every test that runs on any device, on one GPU, on several and through NCCL."""

from ..googletest import Filter, Program

# The folders, and rooms of folders, whose tests run on any device (tests/CMakeLists.txt).
PARALLEL = [f"parallel_{room}" for room in ("pieces", "plan", "replicas", "ranks", "wrapper", "exactness", "life", "faults", "sharding")]
PROGRAMS = ["tensor", "autograd", "ops", "nn", "optim", "comm", "profile", "explain", *PARALLEL, "train", "oracles"]
QUICK_PROGRAMS = ["ops", "comm"]
QUICK_TIMEOUT = 200
ONE_GPU = ["cuda:0", "cuda:0x2", "cuda:0x4", "cuda:0x8"]
QUICK_ONE_GPU = ["cuda:0", "cuda:0x4"]
SEVERAL = ["comm", *PARALLEL, "train"]  # what asks most of several GPUs
# A group of NCCL's takes a second or more to be made, and each test makes one.
NCCL, NCCL_SHARDS = ["comm", *PARALLEL], 4
QUICK_NCCL = ("AllReduce.*", "*CollectivesTest.AllReduce*", "*CollectivesTest.ReduceScatter*", "Async.*")


def programs(plan):
    return QUICK_PROGRAMS if plan.quick else PROGRAMS


def on(plan, label, devices, folders, **options):
    timeout = QUICK_TIMEOUT if plan.quick and not plan.stand_in else 500
    return [Program(plan, "tests", f"tests/{label}/{folder}", folder, devices, timeout=timeout, **options) for folder in folders]


def several_gpus(plan):
    """Copies between GPUs, directly and through the host, and peers."""
    folders = QUICK_PROGRAMS if plan.quick else ["ops", *SEVERAL]
    found = on(plan, "all_gpus", plan.all_gpus(), folders, skip=plan.needs_several)
    if plan.quick:
        return found

    def needs_three(state):
        return plan.needs_several(state) or ("" if len(plan.gpus) > 2 else "the same as all_gpus: two GPUs")
    staged = on(plan, "no_peers", plan.all_gpus(), SEVERAL[:1], environment={"TANDEM_NO_CUDA_PEERS": "1"}, skip=plan.needs_several)
    return [*found, *staged, *on(plan, "two_gpus", "cuda:0,cuda:1", SEVERAL, skip=needs_three),
            *on(plan, "two_gpus_x2", "cuda:0x2,cuda:1x2", SEVERAL, skip=plan.needs_several)]


def through_nccl(plan, label, folders, environment, **options):
    return on(plan, label, plan.all_gpus(), folders, environment={"TANDEM_TEST_BACKEND": "nccl", **environment},
              skip=plan.needs_nccl, **options)


def nccl(plan):
    """NCCL as it comes; with all kernels loaded at the start, which NCCL's must not wait for; and without peers."""
    if plan.quick:
        return [program.step() for program in through_nccl(plan, "nccl-quick", NCCL[:1], {}, filter=Filter(QUICK_NCCL))]
    found = [*through_nccl(plan, "nccl", NCCL, {}), *through_nccl(plan, "nccl_eager", NCCL, {"CUDA_MODULE_LOADING": "EAGER"}),
             *through_nccl(plan, "nccl_no_peers", NCCL[:1], {"NCCL_P2P_DISABLE": "1"})]
    return [step for program in found for step in program.shards(NCCL_SHARDS)]


def steps(plan):
    one = [program for devices in (QUICK_ONE_GPU if plan.quick else ONE_GPU)
           for program in on(plan, devices.replace(":", "_"), devices, programs(plan))]
    return [*(program.step() for program in [*one, *several_gpus(plan)]), *nccl(plan)]
