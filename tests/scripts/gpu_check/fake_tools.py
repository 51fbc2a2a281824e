# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The programs of a machine with a GPU, for the tests of scripts/gpu-check: fake_tools.py NAME ARGUMENTS.

$FAKE_MACHINE is a folder with settings.json, which says how they behave; each call adds a line to calls.jsonl there.
"""

import fnmatch
import json
import os
import pathlib
import shutil
import sys
import time

MACHINE = pathlib.Path(os.environ.get("FAKE_MACHINE", "."))
SETTINGS = {}
TESTS = ["ReduceTest.A", "ReduceTest.B", "AllReduce.C", "AllReduce.D"]
RECORDED = ("CUDA_", "TANDEM_", "NCCL_", "GTEST_", "CXX")


def note_call(name, arguments):
    environment = {k: v for k, v in os.environ.items() if k.startswith(RECORDED)}
    with (MACHINE / "calls.jsonl").open("a") as file:
        file.write(json.dumps({"program": name, "arguments": arguments, "environment": environment,
                               "written": written_stages()}) + "\n")


def written_stages():
    """The stages of `gpu-check brief` that its results have by now."""
    file = MACHINE / "out" / "results.json"
    stages = json.loads(file.read_text()).get("stages", []) if file.exists() else []
    return [stage["name"] for stage in stages if stage["outcome"] != "not yet"]


def write_program(path, name):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -B -E -S {pathlib.Path(__file__).resolve()} {name} "$@"\n')
    path.chmod(0o755)


def cmake(arguments):
    if arguments == ["--version"]:
        print("cmake version", SETTINGS.get("cmake", "3.25.1"))
    elif arguments[0] == "-S":
        tree = pathlib.Path(arguments[arguments.index("-B") + 1])
        (tree / "include" / "tandem").mkdir(parents=True, exist_ok=True)
        nccl = "true" if SETTINGS.get("nccl", "2.28.3") >= "2.18" else "false"
        (tree / "include/tandem/config.hpp").write_text(f"bool has_nccl = {nccl};\nbool has_cudnn = false;\n")
        major, minor, patch = SETTINGS.get("nccl", "2.28.3").split(".")
        (MACHINE / "nccl.h").write_text(
            f"#define NCCL_MAJOR {major}\n#define NCCL_MINOR {minor}\n#define NCCL_PATCH {patch}\n")
        (tree / "CMakeCache.txt").write_text(
            f"NCCL_INCLUDE_DIR:PATH={MACHINE}\nCUDNN_INCLUDE_DIR:PATH=CUDNN_INCLUDE_DIR-NOTFOUND\n")
    else:
        if SETTINGS.get("compile fails"):
            sys.exit("error: no such thing as a GPU")
        tree = pathlib.Path(arguments[1])
        for target in arguments[arguments.index("--target") + 1:]:
            folder, kind = target.rsplit("_", 1)
            path = {"test": tree / "tests" / folder.split("_")[0] / target, "bench": tree / "bench" / folder / target,
                    "cli": tree / folder}[kind]
            write_program(path, path.name)


def hang():
    (MACHINE / "hangs").write_text(str(os.getpid()))
    time.sleep(100)


def chosen_tests(arguments):
    text = next((a.split("=", 1)[1] for a in arguments if a.startswith("--gtest_filter=")), "")
    only, _, without = text.partition("-")
    return [t for t in TESTS if any(fnmatch.fnmatch(t, p) for p in (only or "*").split(":")) and
            not any(fnmatch.fnmatch(t, p) for p in without.split(":"))]


def test_program(name, arguments):
    cases, chosen = {}, chosen_tests(arguments)
    for test in chosen:
        print("[ RUN      ]", test, flush=True)
        what = SETTINGS.get("tests", {}).get(f"{name} {test}") or SETTINGS.get("tests", {}).get("all", "passes")
        if what == "crashes":
            os.abort()
        if what == "hangs":
            hang()
        failed = what == "fails" or what == "fails with others" and len(chosen) > 1
        skipped = what == "skips"
        print("needs 2 devices" if skipped else "")
        print("[  SKIPPED ]" if skipped else "[  FAILED  ]" if failed else "[       OK ]", test, "(0 ms)", flush=True)
        suite, case = test.split(".")
        cases[test] = {"classname": suite, "name": case, "result": "SKIPPED" if skipped else "COMPLETED",
                       **({"failures": [{}]} if failed else {})}
    output = pathlib.Path(os.environ["GTEST_OUTPUT"].removeprefix("json:"))
    output.write_text(json.dumps({"testsuites": [{"testsuite": list(cases.values())}]}))
    sys.exit(any("failures" in case for case in cases.values()))


def tandem(arguments):
    command = arguments[0]
    if command == "devices" and SETTINGS.get("no device"):
        sys.exit("tandem: cuda:0: this machine has 0 GPUs")
    row = {"bytes": 1, "ranks": 4, "time_us": {"p50": 1.0}, "algbw_GBps": 10.0}
    phases = {"name": "cuda:0", "ms_by_phase": {"forward": 1.5}, "collectives_ms": 2.5, "waiting_ms": 3.5}
    figures = json.dumps({"devices": {"devices": []}, "collectives": {"rows": [row]}, "compare": {"equal": True},
                          "explain": {"devices": [phases]}, "train": {"epochs": [{"epoch": 8, "test_accuracy": 0.9}]}}[command])
    target = arguments[arguments.index("--json") + 1]
    if target == "-":
        print(figures)
    else:
        pathlib.Path(target).write_text(figures)


def ops_bench(arguments):
    end = time.monotonic() + 10
    while SETTINGS.get("wait for samples") and not (MACHINE / "sampled").exists() and time.monotonic() < end:
        time.sleep(0.02)
    file = next(a.split("=", 1)[1] for a in arguments if a.startswith("--benchmark_out="))
    bench = {"name": "BM_Add/n:1", "real_time": 1.0, "time_unit": "us", "bytes_per_second": 1e12}
    if "8192" in next(a for a in arguments if "filter" in a):
        bench = {"name": "BM_Product/form:nn/m:8192/threads:1", "real_time": 1.0, "time_unit": "us", "FLOP/s": 8e14}
    pathlib.Path(file).write_text(json.dumps({"benchmarks": [bench]}))


def nvidia_smi(arguments):
    if arguments[0] == "topo":
        print("        GPU0\nGPU0     X ")
    elif "-lms" in arguments:
        for power in (60, 300, 80):
            print(f"1980 MHz, 2619 MHz, 40, {power}.50 W", flush=True)
        (MACHINE / "sampled").touch()
        time.sleep(100)
    else:
        print(", ".join(f"<{word}>" for word in arguments[0].split("=")[1].split(",")))


def ldd(arguments):
    print("\tlibc.so.6 => /lib/libc.so.6 (0x00)")
    for library, path in SETTINGS.get("ldd finds", {}).items():
        print(f"\t{library} => {path} (0x00)")
    for library in SETTINGS.get("ldd does not find", []):
        print(f"\t{library} => not found")


def ncu(arguments):
    print("==ERROR== ERR_NVGPUCTRPERM" if SETTINGS.get("no counters") else "    Memory Throughput           %        81.53")
    sys.exit(9)


def sanitizer(arguments):
    if arguments == ["--version"]:
        print("NVIDIA (R) Compute Sanitizer")
        return
    if SETTINGS.get("sanitizer finds"):
        print("========= ERROR SUMMARY: 1 error")
        sys.exit(99)
    at = next(i for i, word in enumerate(arguments) if word.endswith("_test"))
    os.execv(arguments[at], arguments[at:])


def main(name, *arguments):
    SETTINGS.update(json.loads((MACHINE / "settings.json").read_text()))
    note_call(name, arguments)
    program, word = SETTINGS.get("hangs", ("", ""))
    if name == program and word in " ".join(arguments):
        hang()
    if name.endswith("_test"):
        test_program(name, arguments)
    elif name == "nvcc":
        print("\n".join(SETTINGS.get("codes", ["sm_80", "sm_90"])) if "--list-gpu-code" in arguments else
              f"Cuda compilation tools, release {SETTINGS.get('nvcc', '13.0')}, V13.0.88")
    elif name.startswith("g++"):
        print(SETTINGS.get(name, "12.2.0"))
    elif name == "step_bench":
        print(json.dumps({"step_ms": {"p50": 1.0, "p90": 2.0}}))
    else:
        {"cmake": cmake, "tandem": tandem, "ops_bench": ops_bench, "nvidia-smi": nvidia_smi,
         "compute-sanitizer": sanitizer, "ldd": ldd, "ncu": ncu,
         "readelf": lambda arguments: None, "strip": lambda arguments: shutil.copy(arguments[2], arguments[1])}[name](list(arguments))


if __name__ == "__main__":
    main(*sys.argv[1:])
