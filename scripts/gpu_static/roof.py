# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""An estimate of the share of a GPU's memory bandwidth that a kernel can reach. It is a calculation; nothing is measured.

An SM (multiprocessor) does three things at the same time, and the slowest decides:

  memory  bytes / bandwidth. Bandwidth is reached if enough bytes are on their way: latency * bandwidth. What the threads that
          an SM can hold have on their way is less where registers keep threads out or where loads are narrow.
  issue   instructions / (4 warps a clock)
  f64     instructions of f64 / those that an SM does in a clock
"""

from dataclasses import dataclass

REGISTERS, WARP, SCHEDULERS = 65536, 32, 4  # of an SM; threads; warps that start an instruction in a clock
BLOCK_WARPS = 8  # of 256 threads
REGISTER_UNIT = 256  # registers are given to a warp in units
LATENCY = 600e-9  # of global memory under load: an assumption for all GPUs


@dataclass
class Gpu:
    name: str
    architecture: int  # whose code it runs, of those that are compiled
    bandwidth: float  # bytes a second
    sms: int
    clock: float
    warps: int  # that an SM holds
    f64: int  # fused multiplications and additions of an SM in a clock


# From NVIDIA's data sheets and the table of compute capabilities in the CUDA programming guide.
GPUS = [Gpu("A100 40 GB", 80, 1555e9, 108, 1.41e9, 64, 32),
        Gpu("A100 80 GB", 80, 2039e9, 108, 1.41e9, 64, 32),
        Gpu("H100", 90, 3350e9, 132, 1.98e9, 64, 64),
        Gpu("RTX 4090", 80, 1008e9, 128, 2.52e9, 48, 2)]


def resident_warps(gpu, registers):
    """How many warps an SM holds at once, as its registers allow."""
    of_warp = -(-max(1, registers) * WARP // REGISTER_UNIT) * REGISTER_UNIT
    blocks = min(REGISTERS // (of_warp * BLOCK_WARPS), gpu.warps // BLOCK_WARPS)
    return max(1, blocks) * BLOCK_WARPS


def fraction_on_its_way(gpu, kernel):
    """The bytes that an SM's threads have on their way, of those that its share of the bandwidth needs."""
    if not kernel["in_flight"]:
        return 1.0  # nobody waits for a store
    needed = LATENCY * gpu.bandwidth / gpu.sms
    return min(1.0, resident_warps(gpu, kernel["registers"]) * WARP * kernel["in_flight"] / needed)


def estimate(gpu, kernel):
    """(share of the bandwidth, what decides) of a kernel with figures of its SASS; None if it moves nothing."""
    useful = kernel["load_bytes"] + kernel["store_bytes"]
    if not useful:
        return None
    moved = useful + kernel["local_bytes"]
    threads = gpu.sms * gpu.clock
    times = {
        "memory": moved / gpu.bandwidth,
        "latency": moved / gpu.bandwidth / fraction_on_its_way(gpu, kernel),
        "issue": kernel["instructions"] / (threads * SCHEDULERS * WARP),
        "f64": kernel["f64"] / (threads * gpu.f64),
    }
    decides = max(times, key=times.get)  # the first of equal ones
    return useful / gpu.bandwidth / times[decides], decides
