# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The stages in their order: what tells most of what a change has done comes first."""

import re
import shlex
import shutil
import sys
from dataclasses import replace

from .. import driver
from ..figures import read_benchmarks, read_json, read_models
from ..googletest import Filter, Program
from ..parts import bench, device, sanitizer
from ..staged import Stage
from ..steps import Step
from . import libraries
from .at_once import together
from .plan import tool

# A test that compares a document with the library: the pack has no documents.
NOT_PACKED = ("Algorithms.ThePagesNumbersAreTheirs",)
# At once, one a core of a machine with 16: {folder: processes}. The rooms of parallel end with the time that is left.
SHARDS = {"ops": 5, "comm": 4, "parallel_wrapper": 2, "parallel_exactness": 1}
# Kernels whose threads share memory and that were written last; under a sanitizer each test takes a second or more.
NEW_KERNELS = ("*AttentionTest*", "*LayerNormTest*", "LossTest.*")
# What ncu is asked of: the part of a step, and the kernel's name. Functors are in the names.
KERNELS = {"attention": "ScoreGrad|tiles|attention", "layer_norm": "InputGradRows|layer_norm", "product": "gemm|nvjet|xmma"}
SECTIONS = ["SpeedOfLight", "LaunchStats", "Occupancy", "SchedulerStats", "WarpStateStats", "MemoryWorkloadAnalysis"]
METRICS = re.compile(r"^ +(Duration|Compute \(SM\) Throughput|Memory Throughput|Achieved Occupancy|No Eligible|"
                     r"Registers Per Thread|Warp Cycles Per Issued Instruction) +(\S+) +([\d.,]+) *$", re.MULTILINE)
NO_COUNTERS = "the driver lets no user but root read the GPU's counters (ERR_NVGPUCTRPERM)"
ASKED = ["name", "driver_version", "memory.total", "clocks.max.sm", "power.limit", "mig.mode.current"]  # of nvidia-smi
CONNECTIONS = (8, 32)  # of CUDA_DEVICE_MAX_CONNECTIONS; 8 is CUDA's own


def program(plan, *names):
    return plan.tree.joinpath(*names)


def ops_bench(plan, name, names):
    """Benchmarks whose names match, each for a short time."""
    file = plan.out / (name.replace("/", "_") + ".json")
    return Step(name, name.split("/")[0], [
        program(plan, "bench", "ops", "ops_bench"), "--device=cuda:0", f"--benchmark_filter={names}", f"--benchmark_out={file}",
        "--benchmark_out_format=json", "--benchmark_min_time=0.1"], plan.environment(), read=read_benchmarks(file), writes=file)


def step_bench(plan, name, *arguments, **environment):
    return Step(name, name.split("/")[0], [program(plan, "bench", "step", "step_bench"), *arguments],
                {**plan.environment(), **environment}, read=read_json)


def in_turn(plan, name, models, *arguments, **options):
    """Models against PyTorch. Only tandem's program has tandem's environment: PyTorch brings libraries of its own."""
    settings = [f"{key}={value}" for key, value in plan.environment().items()]
    tandem = ["env", *settings, program(plan, "bench", "step", "step_bench"), "--devices", "cuda:0"]
    return Step(name, name.split("/")[0], [
        sys.executable, "-B", plan.root / "bench" / "peers" / "in_turn.py", "--device", plan.device, "--tandem",
        shlex.join(map(str, tandem)), *arguments, *models], read=read_models, **options)


def small(plan):
    """A step that the stand-in ends in a second."""
    return ["--batch", "8", "--steps", "2", "--warmup", "1"] if plan.stand_in else []


def no_gpu(plan, found, what="nvidia-smi"):
    """Why a tool that looks at the GPU does not run; "" if it does."""
    reason = "the stand-in is not a GPU" if plan.stand_in else "" if found else f"there is no {what}"
    return lambda state: reason


def read_smi(log):
    """What nvidia-smi says of the first GPU."""
    return dict(zip(ASKED, map(str.strip, log.partition("\n")[0].split(","))))


def roofs(plan):
    programs = [path for path in sorted(plan.tree.rglob("*")) if path.is_file()]
    copy, product = ("n:1048576", "m:64/") if plan.stand_in else ("n:67108864", "m:8192/")
    return [Step("roofs/libraries", "roofs", [sys.executable, "-B", libraries.__file__, *programs], plan.environment(),
                 read=read_json, essential=True),
            Step("roofs/driver", "roofs", [sys.executable, "-B", driver.__file__], timeout=10, read=read_json),
            Step("roofs/nvidia_smi", "roofs", ["nvidia-smi", f"--query-gpu={','.join(ASKED)}", "--format=csv,noheader"],
                 timeout=5, read=read_smi, skip=no_gpu(plan, shutil.which("nvidia-smi"))),
            replace(device.devices(plan, "roofs/devices", "cuda:0", essential=True), part="roofs"),
            ops_bench(plan, "roofs/ops", rf"^BM_(Copy/{copy}/threads:1/|Product/.*/{product})")]


def tests(plan):
    only = sanitizer.QUICK if plan.stand_in else {}  # over the stand-in all would take minutes
    shards = [(Program(plan, "tests", f"tests/cuda_0x4/{folder}", folder, "cuda:0x4", timeout=60,
                       filter=Filter(tuple(only.get(folder, ())), NOT_PACKED)), count)
              for folder, count in SHARDS.items() if folder in only or not plan.stand_in]
    return [together("tests/cuda_0x4", "tests", shards, plan.out, 60)]


def gpt2(plan):
    model, *dtype = ["gpt"] if plan.stand_in else ["gpt2", "--dtype", "bf16"]
    profile = step_bench(plan, "gpt2/profile", "--model", model, *dtype, "--devices", "cuda:0", "--profile", "--steps", "20")
    profile.skip = no_gpu(plan, True)  # its roofs are products that a host takes minutes for
    return [in_turn(plan, "gpt2/eager", ["gpt" if plan.stand_in else "gpt2:bf16"], *small(plan)), profile]


def products(plan):
    return [ops_bench(plan, "products/gpt2", "^BM_Product/.*/(m|k):" + ("64/" if plan.stand_in else "4096/"))]


def models(plan):
    names = ["mlp", "cnn"] if plan.stand_in else ["mlp", "cnn", "gpt", "resnet50:bf16"]
    return [in_turn(plan, "models/eager", names, *small(plan))]


def logical(plan):
    """Four logical devices: what each did and when, and whether their streams wait for a connection."""
    trace = plan.out / "trace.json"
    traced = Step("logical/trace", "logical", [
        plan.program, "explain", "--model", "mlp", "--data", "digits", "--devices", "cuda:0x4", "--mode", "dp-sharded",
        "--batch", "512", "--steps", "3", "--trace", trace, "--json", "-"], plan.environment(), read=read_json, writes=trace)
    rounds = [step_bench(plan, f"logical/{count}_connections/{i}", "--model", "mlp", "--devices", "cuda:0x4", *small(plan),
                         CUDA_DEVICE_MAX_CONNECTIONS=str(count)) for i in (1, 2) for count in CONNECTIONS]
    return [step_bench(plan, "logical/one", "--model", "mlp", "--devices", "cuda:0", *small(plan)), *rounds, traced]


def sanitizers(plan):
    found = tool("compute-sanitizer")
    return [replace(sanitizer.program(plan, found, check, "ops", NEW_KERNELS, 30).step(), follow=lambda result: [])
            for check in ("racecheck", "memcheck")]


def read_counters(log):
    if "ERR_NVGPUCTRPERM" in log:
        return {"nothing_run": NO_COUNTERS}
    found = {f"{name}, {unit}": value for name, unit, value in METRICS.findall(log)}  # one name has two units
    if not found:
        raise ValueError("ncu has seen no such kernel")
    return {"counters": found}


def counters(plan):
    """ncu of one launch of each kernel; it ends with a status of its own when it ends the program."""
    found = tool("ncu")
    step = [program(plan, "bench", "step", "step_bench"), "--model", "gpt2", "--dtype", "bf16", "--devices", "cuda:0",
            "--steps", "1", "--warmup", "1"]
    sections = [word for section in SECTIONS for word in ("--section", section)]

    def command(name):
        return ["sh", "-c", '"$@"; exit 0', "sh", found, *sections, "--kernel-name-base", "demangled", "--kernel-name",
                f"regex:{name}", "--launch-count", "1", "--kill", "yes", *step]
    return [Step(f"ncu/{part}", "ncu", command(name), plan.environment(), read=read_counters, timeout=20,
                 skip=no_gpu(plan, found, "ncu")) for part, name in KERNELS.items()]


def compiled(plan):
    def needs_torch(state):
        return "" if state.figures("gpt2/eager").get("PyTorch") else bench.NO_TORCH
    return [in_turn(plan, "compile/gpt2", ["gpt" if plan.stand_in else "gpt2:bf16"], "--compile", "--rounds", "1", *small(plan),
                    skip=needs_torch)]


def stages(plan):
    """520 seconds; the first has 10 more than it needs, since libraries come from a cold disk, and nothing follows it if
    it does not end."""
    return [Stage("roofs", 25, "what the GPU can do", roofs(plan)),
            Stage("tests", 60, "right or wrong, on four logical devices", tests(plan)),
            Stage("gpt2", 45, "the ratio, and where the time goes", gpt2(plan)),
            Stage("products", 45, "the products of gpt2 by shape", products(plan)),
            Stage("models", 60, "what the host costs", models(plan)),
            Stage("logical", 60, "four logical devices of one GPU", logical(plan)),
            Stage("sanitizer", 60, "races of new kernels", sanitizers(plan)),
            Stage("ncu", 45, "why three kernels take what they take", counters(plan)),
            Stage("compile", 120, "torch.compile, the next target", compiled(plan))]
