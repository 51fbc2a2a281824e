# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Part roofline: an addition, a product and an all-reduce, each beside what the GPU's data sheet allows."""

from .. import machine
from ..figures import read_benchmarks, read_json
from ..steps import Step

# f32 units of a multiprocessor by compute capability; 128 where it is not listed.
UNITS = {"7.0": 64, "7.2": 64, "7.5": 64, "8.0": 64}
RANKS = 4  # logical devices of one GPU in the all-reduce
SIZE, STAND_IN_SIZE = 1 << 26, 1 << 20  # elements, or bytes of the all-reduce
CLOCKS = "clocks.sm,clocks.mem,temperature.gpu,power.draw"  # of nvidia-smi


def roofs(gpu):
    """{"bytes_per_second", "FLOP/s"} that the GPU has at its highest clocks; without what its driver does not say."""
    memory = 2 * 1e3 * gpu.get("memory_clock_khz", 0) * gpu.get("memory_bus_bits", 0) / 8
    units = UNITS.get(gpu.get("compute_capability"), 128)
    flops = 2e3 * gpu.get("clock_khz", 0) * gpu.get("multiprocessors", 0) * units
    return {kind: roof for kind, roof in (("bytes_per_second", memory), ("FLOP/s", flops)) if roof}


def beside_roof(figures, roof):
    kind = "FLOP/s" if "FLOP/s" in figures else "bytes_per_second"
    return {**figures, "roof": roof[kind]} if kind in roof else figures


def sampled(plan, file, command):
    """The command, while nvidia-smi writes clocks, heat and power of its GPU to `file`."""
    if not machine.nvidia_smi() or plan.stand_in:
        return command
    sample = ('timeout 200 nvidia-smi -i "$0" --query-gpu="$1" --format=csv,noheader -lms 200 > "$2" & sampler=$!; '
              'shift 2; "$@"; status=$?; kill $sampler; exit $status')
    return ["sh", "-c", sample, plan.gpus[0]["pci"], CLOCKS, file, *command]


def read_clocks(file):
    """The sample with the most power: a GPU that works, not one that waits."""
    rows = [dict(zip(CLOCKS.split(","), map(str.strip, row.split(",")))) for row in file.read_text().splitlines()]
    rows = [row for row in rows if len(row) == len(CLOCKS.split(","))]
    return {"clocks": max(rows, key=lambda row: machine.version_in(row["power.draw"], r"(\d+)"))} if rows else {}


def ops(plan, roof):
    file, clocks = plan.out / "roofline.json", plan.out / "clocks.csv"
    benchmarks = read_benchmarks(file)
    n = STAND_IN_SIZE if plan.stand_in else SIZE
    names = rf"^BM_(Copy|Relu|Add)/n:{n}/threads:1/|^BM_LinearF32/m:2048/n:2048/k:2048/path:0/threads:1/"

    def read(log):
        figures = {name: beside_roof(f, roof) for name, f in benchmarks(log).items()}
        return figures | (read_clocks(clocks) if clocks.exists() else {})
    command = [plan.tree / "bench" / "ops" / "ops_bench", "--device=cuda:0", f"--benchmark_out={file}",
               "--benchmark_out_format=json", f"--benchmark_filter={names}"]
    return Step("roofline/ops", "roofline", sampled(plan, clocks, command), plan.environment(), timeout=200, writes=file,
                read=read)


def all_reduce(plan, label, devices, backend, roof, skip=None):
    nbytes = STAND_IN_SIZE if plan.stand_in else SIZE

    def read(log):
        row = read_json(log)["rows"][-1]
        figures = {"real_time": row["time_us"]["p50"], "time_unit": "us", "bytes_per_second": row["algbw_GBps"] * 1e9}
        return {f"all_reduce, {row['bytes']} bytes, {row['ranks']} ranks, {backend}": beside_roof(figures, roof)}
    return Step(f"roofline/all_reduce/{label}", "roofline", [
        plan.program, "collectives", "--devices", devices, "--backend", backend, "-b", str(nbytes), "-e", str(nbytes),
        "--quiet", "--json", "-"], plan.environment(), timeout=200, read=read, **({"skip": skip} if skip else {}))


def steps(plan):
    roof = roofs(plan.gpus[0]) if plan.gpus else {}
    # Every rank's bytes are read, and written, once: of one memory each rank has its share.
    shared = {"bytes_per_second": roof["bytes_per_second"] / (2 * RANKS)} if "bytes_per_second" in roof else {}
    return [ops(plan, roof), all_reduce(plan, "one_gpu", f"cuda:0x{RANKS}", "local", shared),
            all_reduce(plan, "all_gpus", plan.all_gpus(), "local", {}, plan.needs_several),
            all_reduce(plan, "nccl", plan.all_gpus(), "nccl", {}, plan.needs_nccl)]
