# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of each part, in their order."""

import json
import os
import pathlib
import re
import sys
from dataclasses import dataclass

from . import machine
from .steps import Step

PARTS = ["build", "tests", "sanitizer", "demo", "bench"]
DEVICE_LISTS = ["cuda:0", "cuda:0x2", "cuda:0x4", "cuda:0x8"]
# The folders whose tests run on any device (tests/CMakeLists.txt).
PROGRAMS = ["tensor", "autograd", "ops", "nn", "optim", "comm", "parallel", "train", "oracles"]
# What a sanitizer makes ten to fifty times slower: kernels of every family, and the collectives.
SANITIZED = {"memcheck": ["tensor", "ops", "optim", "comm", "parallel"], "racecheck": ["ops", "optim", "comm"]}
MODELS = ["mlp", "cnn", "gpt"]
LARGE_MODELS = ["resnet50", "gpt2"]
NO_GPU = "there is no GPU"


@dataclass
class Plan:
    """What every step needs to know."""

    root: pathlib.Path
    out: pathlib.Path
    arch: str
    stand_in: bool
    rounds: int
    gpu: dict

    @property
    def tree(self):
        return self.out / "tree"

    def test_program(self, folder):
        return self.tree / "tests" / folder / f"{folder}_test"

    @property
    def program(self):
        return self.tree / "tandem"

    def without_gpu(self):
        return "" if self.gpu or self.stand_in else NO_GPU

    def environment(self):
        return {"TANDEM_STAND_IN_GPUS": "1"} if self.stand_in else {}


def prefix_arguments(prefix):
    """How CMake finds the bundle's libraries; a library finds those that it needs by the RPATH."""
    libraries = next((prefix / "lib").glob("*-linux-gnu*"))
    openblas = libraries / "openblas-pthread"
    return [f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_LIBRARY_ARCHITECTURE={libraries.name}",
            f"-DOpenBLASPthread_LIBRARY={openblas}/libopenblas.so",
            f"-DOpenBLASPthread_INCLUDE_DIR={prefix}/include/{libraries.name}/openblas-pthread",
            f"-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags,-rpath,{libraries}:{openblas}"]


def build(plan):
    source = plan.root.parent
    arguments, steps, environment = [], [], {}
    if (source / "bundle.json").exists():
        googletest = plan.out / "googletest"
        steps.append(Step("googletest", "build", [
            "sh", "-c", 'cmake -S "$0" -B "$1" -G Ninja -DCMAKE_BUILD_TYPE=Release '
            '-DCMAKE_INSTALL_PREFIX="$1/prefix" && cmake --build "$1" --target install',
            source / "googletest", googletest], essential=True))
        arguments = [*prefix_arguments(source / "prefix" / "usr"), f"-DGTest_ROOT={googletest}/prefix"]
    toolkit = machine.toolkit()
    if toolkit:
        environment["CUDACXX"] = f"{toolkit}/bin/nvcc"
    backend = ["-DTANDEM_CUDA_STAND_IN=ON"] if plan.stand_in else [f"-DCMAKE_CUDA_ARCHITECTURES={plan.arch}"]
    steps.append(Step("configure", "build", [
        "cmake", "-S", plan.root, "-B", plan.tree, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
        "-DTANDEM_CUDA=ON", *backend, "-DTANDEM_ONEDNN=OFF", "-DTANDEM_WERROR=OFF", "-DTANDEM_BUILD_BENCH=ON",
        "-DTANDEM_BUILD_EXAMPLES=OFF", *arguments], environment, essential=True))
    targets = ["tandem_cli", *(f"{folder}_test" for folder in PROGRAMS), "step_bench", "ops_bench"]
    steps.append(Step("compile", "build", ["cmake", "--build", plan.tree, "--parallel", str(os.cpu_count()),
                                           "--target", *targets], timeout=3600, essential=True))
    return steps


def read_tests(file):
    """Counts and failures of a GoogleTest program's JSON."""
    def read(log):
        cases = [case for suite in json.loads(file.read_text())["testsuites"] for case in suite["testsuite"]]
        skipped = sum(case["result"] == "SKIPPED" for case in cases)
        reasons = sorted(set(re.findall(r"needs \d+ devices|" + NO_GPU, log)))
        figures = {"tests": len(cases), "skipped": skipped, "reasons": reasons,
                   "failed": [f"{case['classname']}.{case['name']}" for case in cases if "failures" in case]}
        if skipped == len(cases) or NO_GPU in reasons:
            figures["nothing_run"] = NO_GPU
        return figures
    return read


def test_step(plan, part, folder, devices, wrap=(), label=""):
    name = f"{part}/{label or devices.replace(':', '_')}/{folder}"
    file = plan.out / "tests" / (name.replace("/", "_") + ".json")
    file.parent.mkdir(exist_ok=True)
    return Step(name, part, [*wrap, plan.test_program(folder)],
                {**plan.environment(), "TANDEM_TEST_DEVICE": "cuda", "TANDEM_TEST_DEVICES": devices,
                 "RC_PARAMS": "max_success=20", "GTEST_OUTPUT": f"json:{file}"}, read=read_tests(file), writes=file)


def tests(plan):
    return [test_step(plan, "tests", folder, devices) for devices in DEVICE_LISTS for folder in PROGRAMS]


def sanitizer(plan):
    tool = machine.tool("compute-sanitizer")
    steps = [test_step(plan, "sanitizer", folder, "cuda:0x4", label=check,
                       wrap=[tool, "--tool", check, "--error-exitcode", "99"])
             for check, folders in SANITIZED.items() for folder in folders]
    for step in steps:
        step.skip = plan.without_gpu() or ("" if tool else "there is no compute-sanitizer")
        step.environment["RC_PARAMS"] = "max_success=2"
        if plan.stand_in:
            step.skip = "the stand-in is not a GPU"
    return steps


def read_json(log):
    """The last JSON object in the log that begins a line."""
    return json.JSONDecoder().raw_decode(log, ("\n" + log).rindex("\n{"))[0]


def read_file(file):
    return lambda log: json.loads(file.read_text())


def demo(plan):
    trained = plan.out / "train.json"
    common = ["--model", "cnn-small", "--data", "digits", "--devices", "cuda:0x4", "--batch", "256"]
    steps = [
        Step("demo/train", "demo", [plan.program, "train", *common, "--gpu0-bsz", "40", "--epochs", "8",
                                    "--json", trained], read=read_file(trained), writes=trained),
        Step("demo/verify", "demo", [plan.program, "verify", *common, "--chunk-sizes", "40,72,72,72",
                                     "--steps", "20", "--dtype", "f64", "--json", "-"], read=read_json)]
    for step in steps:
        step.environment = plan.environment()
        step.skip = plan.without_gpu()
    return steps


def compare(plan, model, variant, peer_arguments, arguments="", steps="--steps 200 --warmup 50"):
    peers = plan.root / "bench" / "peers"
    step = plan.tree / "bench" / "step" / "step_bench"
    python = f"{sys.executable} {peers}/pytorch_step.py --device cuda --model {model}"
    return Step(f"bench/{model}/{variant}", "bench", [
        sys.executable, peers / "compare.py", "--rounds", str(plan.rounds),
        "--tandem", f"{step} --model {model} --devices cuda:0 {steps} {arguments}",
        "--peer", f"{python} {steps} {peer_arguments}"], read=read_json)


def bench(plan):
    variants = [("eager", "", ""), ("eager-tf32", "--tf32", "--tf32"), ("compile", "--compile", "")]
    steps = [compare(plan, model, *variant) for model in MODELS for variant in variants]
    large = [("eager", "", ""), ("eager-bf16", "--dtype bf16", "--dtype bf16"),
             ("compile-bf16", "--compile --dtype bf16", "--dtype bf16")]
    steps += [compare(plan, model, *variant, "--steps 30 --warmup 10") for model in LARGE_MODELS
              for variant in large]
    for step in steps:
        step.skip = "" if machine.has_torch() else "there is no PyTorch that sees a GPU"
    program = plan.tree / "bench" / "step" / "step_bench"
    steps += [Step(f"bench/{model}/cuda_0x4", "bench", [program, "--model", model, "--devices", "cuda:0x4"],
                   plan.environment(), read=read_json, skip=plan.without_gpu()) for model in MODELS]
    steps += [Step(f"bench/{model}/profile", "bench", [program, "--model", model, "--devices", "cuda:0", "--profile",
                                                       "--steps", "20"],
                   read=read_json, skip=plan.without_gpu()) for model in MODELS + LARGE_MODELS]
    for step in steps:
        step.environment = plan.environment()
    return [*steps, ops(plan), peer_ops(plan)]


def ops(plan):
    file = plan.out / "ops.json"

    def read(_):
        keys = ("real_time", "time_unit", "FLOP/s", "bytes_per_second", "label")
        return {b["name"]: {k: b[k] for k in keys if k in b} for b in json.loads(file.read_text())["benchmarks"]}
    return Step("bench/ops", "bench", [
        plan.tree / "bench" / "ops" / "ops_bench", "--device=cuda:0", f"--benchmark_out={file}",
        "--benchmark_out_format=json", "--benchmark_filter=(path:0/|last:[01]/|n:[0-9]+/)threads:1/"],
        plan.environment(), read=read, writes=file, skip=plan.without_gpu())


def peer_ops(plan):
    """The same ops in PyTorch, by the same names."""
    return Step("bench/ops-pytorch", "bench", [
        sys.executable, plan.root / "bench" / "peers" / "pytorch_ops.py", "--device", "cuda"],
        read=lambda log: read_json(log)["ops"], skip="" if machine.has_torch() else "there is no PyTorch that sees a GPU")


def steps_of(part, plan):
    return {"build": build, "tests": tests, "sanitizer": sanitizer, "demo": demo, "bench": bench}[part](plan)
