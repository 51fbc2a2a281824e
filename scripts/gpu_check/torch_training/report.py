# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""results.json and report.md of the check of training on one of PyTorch's GPUs."""

from ..report import outcome, save, table

LINES = 12  # of a log


def words_of(step):
    """What the step has said, the last of each subject."""
    said = {line.get("subject"): line["said"] for line in step.get("figures", {}).get("told", []) if "said" in line}
    return "; ".join(said.values()) or "-"


def stage_table(check):
    known = {stage.name: check.state.steps.get(stage.name) for stage in check.stages}
    rows = [[stage.name, f"{check.took.get(stage.name, '-')} of {stage.seconds}", outcome(known[stage.name]) if known[stage.name] else "not yet",
             words_of(known[stage.name] or {})] for stage in check.stages]
    return table(["stage", "s", "outcome", "what it says"], rows)


def end_of_log(check, step):
    """Of a step that has failed: the last lines that its program has not told."""
    file = check.state.log(step)
    if check.state.status(step.name) != "failed" or not file.exists():
        return []
    lines = [line for line in file.read_text(errors="replace").splitlines() if line.strip() and not line.startswith("{")]
    return ["", "```", *(lines[-LINES:] or ["it printed nothing"]), "```"]


def write(check):
    text = ["# tandem on one of PyTorch's GPUs\n", stage_table(check)]
    for stage in check.stages:
        step = check.state.steps.get(stage.name, {})
        lines = [line for line in step.get("figures", {}).get("told", []) if "said" in line]
        text += [f"## {stage.name}: {stage.shows}\n", *(f"- {line['said']}" for line in lines), *end_of_log(check, stage.steps[0]), ""]
    return save(check.out, {"schema_version": 1, "steps": check.state.steps}, "\n".join(text))
