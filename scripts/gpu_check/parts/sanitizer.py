# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Part sanitizer: tests under compute-sanitizer, which makes them ten to fifty times slower."""

from .. import machine
from ..googletest import Filter, Program
from .tests import PARALLEL

# Every wait asks a stream or an event whether it has ended, and "not yet" is an error to the driver's interface: with
# its errors reported, every test would fail. Races of memory that belongs to streams are what the stand-in cannot find.
OPTIONS = {"memcheck": ("--report-api-errors", "no", "--track-stream-ordered-races", "all", "--leak-check", "no"),
           "racecheck": ("--report-api-errors", "no")}
FOUND = "99"  # the exit status for what the sanitizer has found
SHARDS = 4  # so that each step ends within its time
MEMCHECKED = ["tensor", "ops", "optim", "comm", *PARALLEL]
# Kernels whose threads share memory: reductions, norms, losses.
REDUCTIONS = {"ops": ("*ReduceTest*", "*Softmax*", "*Norm*", "*LossTest*", "*AttentionTest*"), "optim": ("*Clip*",),
              "comm": ("*AllReduce*", "*ReductionsTest*")}
QUICK = {"ops": ("*ReduceTest*", "*SoftmaxTest*", "*IndexTest*", "*EmbeddingTest*", "*CopyTest*", "*LayerNormTest*",
                 "*PoolTest*", "Matmul.*"),
         "comm": ("AllReduce.*", "*CollectivesTest.AllReduce*", "*CollectivesTest.ReduceScatter*", "Async.*")}
QUICK_REDUCTIONS = {"ops": ("*ReduceTest*", "*SoftmaxTest*", "*LayerNormTest*")}
QUICK_TIMEOUT = 200
# What waits for time to pass, or says how long something may take.
TIMED = ("*Timeout*", "*OnTime*", "*StaysAway*", "*Hang*", "*Hung*", "*Deadline*", "*Straggler*", "*Soak*",
         "*ThreadThatDoesNotStart*", "*WaitsAsLong*", "*AtAnyMoment*", "MonitoredBarrier.*", "FlightRecord.*", "Desync*",
         "MeetingTest.*", "HugeSize*")


def program(plan, tool, check, folder, only, timeout=500):
    name = f"sanitizer/{check}{'-quick' if plan.quick else ''}/{folder}"
    reason = "the stand-in is not a GPU" if plan.stand_in else "" if tool else "there is no compute-sanitizer"
    return Program(plan, "sanitizer", name, folder, "cuda:0x4",
                   {"RC_PARAMS": "max_success=2", "TANDEM_NO_CUDA_MEMORY_CACHING": "1"},
                   (tool, "--tool", check, "--error-exitcode", FOUND, *OPTIONS[check]), timeout, Filter(tuple(only), TIMED),
                   skip=lambda state: reason)


def steps(plan):
    tool = machine.tool("compute-sanitizer")
    if plan.quick:
        return [program(plan, tool, check, folder, only, QUICK_TIMEOUT).step()
                for check, chosen in (("racecheck", QUICK_REDUCTIONS), ("memcheck", QUICK)) for folder, only in chosen.items()]
    return ([program(plan, tool, "racecheck", folder, only).step() for folder, only in REDUCTIONS.items()] +
            [step for folder in MEMCHECKED for step in program(plan, tool, "memcheck", folder, ()).shards(SHARDS)])
