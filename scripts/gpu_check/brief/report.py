# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""results.json and report.md of the short check, and the table that is printed after each stage."""

import os
import platform

from .. import machine
from ..report import bench_tables, outcome, plain_table, rate, save, table, tests_table

NOT_YET = "not yet"


def shown(make, *arguments):
    """What `make` returns. Figures that it did not expect cost a table, and no stage."""
    try:
        return make(*arguments)
    except Exception as e:  # the GPU is there for ten minutes
        return f"cannot be shown: {type(e).__name__}: {e}"


def words_of(name, step):
    """What a step has shown, in a few words."""
    f = step.get("figures", {})
    if "tests" in f:
        return f"{f['tests']} tests, {f['skipped']} skipped, {len(f['failed'])} failed"
    if "models" in f:
        return ", ".join(words_of_model(model, m) for model, m in f["models"].items())
    if "step_ms" in f:
        return f"{name.split('/', 1)[1]} {f['step_ms']['p50']:.4g} ms"
    if "counters" in f:
        return ", ".join(f"{what} {value}" for what, value in f["counters"].items() if "Throughput" in what)
    rated = [f"{benchmark.split('/')[0]} {rate(b)}" for benchmark, b in f.items() if isinstance(b, dict) and "real_time" in b]
    return ", ".join(rated) if len(rated) < 4 else f"{len(rated)} benchmarks"


def words_of_model(name, figures):
    tandem = f"{name} {figures['tandem_ms']['median']:.4g} ms"
    return tandem + (f" of PyTorch's {figures['peer_ms']['median']:.4g}: {figures['ratio']}" if "ratio" in figures else "")


def of_stage(brief, stage):
    """[(name, step)] of the steps of a stage that are known."""
    return [(name, s) for name, s in brief.state.steps.items() if s["part"] == stage.name]


def stage_outcome(brief, stage):
    """One line on how a stage has ended."""
    if not of_stage(brief, stage):
        return NOT_YET
    said = {}  # what several steps say is said once
    for name, step in of_stage(brief, stage):
        if step["status"] not in ("passed", "skipped"):
            said.setdefault(outcome(step), []).append(name)
    return "; ".join(f"{', '.join(names)}: {text}" for text, names in said.items()) or "passed"


def stage_table(brief, stages=None):
    """Of all stages, or of those that are named."""
    rows = [[stage.name, f"{brief.took.get(stage.name, '-')} of {stage.seconds}", stage_outcome(brief, stage),
             "; ".join(filter(None, (shown(words_of, *known) for known in of_stage(brief, stage)))) or "-"]
            for stage in brief.stages if stages is None or stage.name in stages]
    return table(["stage", "s", "outcome", "figures"], rows)


def products_table(brief, steps):
    """Each product beside the large one, the roof."""
    roofs = brief.state.figures("roofs/ops")
    roof = max((f["FLOP/s"] for f in roofs.values() if "FLOP/s" in f), default=None)
    rows = [[name.split("/", 1)[1].split("/threads")[0], f"{f['real_time']:.4g} {f['time_unit']}", rate(f),
             f"{f['FLOP/s'] / roof:.0%}" if roof and "FLOP/s" in f else "-"]
            for _, step in steps for name, f in step.get("figures", {}).items() if "real_time" in f]
    return table(["product", "time", "rate", "of 8192 x 8192 x 8192"], rows)


def models_tables(steps):
    """Models of one step as steps of their own."""
    each = []
    for name, step in steps:
        models = step.get("figures", {}).get("models", {})
        each += [(f"{name}/{model}", {**step, "figures": figures}) for model, figures in models.items()]
        each += [] if models else [(name, step)]
    return bench_tables(each)


def counters_table(steps):
    names = sorted({what for _, s in steps for what in s.get("figures", {}).get("counters", {})})
    rows = [[name, outcome(s), *(s.get("figures", {}).get("counters", {}).get(what, "-") for what in names)] for name, s in steps]
    return table(["step", "outcome", *names], rows)


def logical_tables(steps):
    """Times of steps, and the phases of each device of the trace."""
    figures = [s.get("figures", {}) for name, s in steps if name == "logical/trace"]
    devices = [device for f in figures for device in f.get("devices", [])]
    phases = sorted({phase for d in devices for phase in d["ms_by_phase"]})
    rows = [[d["name"], *(f"{d['ms_by_phase'].get(phase, 0):.3f}" for phase in phases), f"{d['collectives_ms']:.3f}",
             f"{d['waiting_ms']:.3f}"] for d in devices]
    return bench_tables(steps) + ("\n" + table(["device, ms of 3 steps", *phases, "collectives", "waiting"], rows) if rows else "")


def section(brief, stage):
    steps = of_stage(brief, stage)
    of_kind = {"tests": tests_table, "sanitizer": tests_table, "gpt2": models_tables, "models": models_tables,
               "compile": models_tables, "logical": logical_tables, "ncu": counters_table,
               "products": lambda steps: products_table(brief, steps)}
    return of_kind.get(stage.name, plain_table)(steps)


def describe(brief):
    """What the figures depend on."""
    driver = brief.state.figures("roofs/driver")
    gpus = {f"cuda:{i}": f"{g['name']}, compute capability {g['compute_capability']}, {g['memory_mib']} MiB"
            for i, g in enumerate(driver.get("gpus", []))}
    smi = ", ".join(f"{key} {value}" for key, value in brief.state.figures("roofs/nvidia_smi").items())
    torch = brief.state.figures("gpt2/eager")
    return {**brief.plan.pack, **gpus, "nvidia-smi": smi or "not known", "CUDA of the driver": driver.get("cuda") or "not known",
            "PyTorch": torch.get("PyTorch") or torch.get("why") or "not known yet", "cpu": machine.cpu(),
            "cores": len(os.sched_getaffinity(0)), "system": platform.platform()}


def write(brief):
    known = shown(describe, brief)
    machine_ = known if isinstance(known, dict) else {**brief.plan.pack, "machine": known}
    stages = [{"name": stage.name, "seconds": brief.took.get(stage.name), "limit": stage.seconds,
               "outcome": stage_outcome(brief, stage)} for stage in brief.stages]
    result = {"schema_version": 1, "machine": machine_, "stages": stages, "steps": brief.state.steps}
    missing = brief.state.figures("roofs/libraries").get("missing", [])
    text = ["# GPU check of ten minutes\n", stage_table(brief)]
    if brief.plan.stand_in:
        text.append("**Run on the tests' stand-in for a GPU, to try the script: no figure means anything.**\n")
    if missing:
        text += ["This is missing:\n", *(f"- {what}" for what in missing), ""]
    text.append(table(["", ""], machine_.items()))
    text += [f"## {stage.name}: {stage.shows}\n\n{shown(section, brief, stage)}" for stage in brief.stages if of_stage(brief, stage)]
    return save(brief.plan.out, result, "\n".join(text))
