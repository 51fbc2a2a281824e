# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""results.json and report.md from the state of the steps."""

import json

from .parts import PARTS

LARGEST = 5  # ops of a profile that are shown


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(word) for word in line) + " |" for line in lines) + "\n"


def outcome(step):
    return f"{step['status']}: {step['reason']}" if step.get("reason") else step["status"]


def tests_table(steps):
    rows = []
    for name, step in steps:
        f = step.get("figures", {})
        rows.append([name, outcome(step), f.get("tests", "-"), f.get("skipped", "-"),
                     ", ".join(f.get("failed", [])) or "-", ", ".join(f.get("reasons", [])) or "-",
                     step.get("seconds", "-")])
    return table(["program", "outcome", "tests", "skipped", "failed", "why skipped", "s"], rows)


def spread(figures):
    return f"{figures['median']:.3f} ({figures['min']:.3f}-{figures['max']:.3f})"


def mebibytes(figure):
    return "-" if figure is None else f"{figure:.1f}"


def bench_tables(steps):
    """One table for each kind of step."""
    versus, alone, ops, costs, other = [], [], [], [], []
    peer = dict(steps).get("bench/ops-pytorch", {}).get("figures", {})
    for name, step in steps:
        f = step.get("figures", {})
        if "ratio" in f:
            versus.append([name, spread(f["tandem_ms"]), spread(f["peer_ms"]), f["ratio"],
                           *(mebibytes(f["peak_mib"][k]) for k in ("tandem", "peer"))])
        elif "step_ms" in f:
            alone.append([name, f["step_ms"]["p50"], f["step_ms"]["p90"]])
            costs += [[name, op["name"], f"{op['ms']:.3f}", f"{op['share']:.0%}", f"{op['of_roof']:.0%}"]
                      for op in f.get("ops", [])[:LARGEST]]
        elif step["status"] == "passed" and name != "bench/ops-pytorch":
            ops += [[op, f"{v['real_time']:.4g} {v['time_unit']}", rate(v), *against(v, peer, op)]
                    for op, v in f.items()]
        else:
            other.append([name, outcome(step)])
    tables = [(["step", "tandem, ms", "PyTorch, ms", "ratio", "peak, MiB", "PyTorch's"], versus),
              (["step", "p50, ms", "p90, ms"], alone), (["op", "time", "rate", "PyTorch's", "of it"], ops),
              (["step", "largest ops", "ms", "share", "of roof"], costs), (["step", "outcome"], other)]
    return "\n".join(table(head, rows) for head, rows in tables if rows)


def against(figures, peer, op):
    """PyTorch's rate of the same op, and our rate as a share of it; our op's name may have options of the run at its end."""
    same = next((v for name, v in peer.items() if op == name or op.startswith(name + "/")), None)
    kind = next((k for k in ("FLOP/s", "bytes_per_second") if same and k in same and k in figures), None)
    return [rate(same), f"{figures[kind] / same[kind]:.0%}"] if kind else ["-", "-"]


def rate(figures):
    if "FLOP/s" in figures:
        return f"{figures['FLOP/s'] / 1e12:.2f} TFLOP/s"
    return f"{figures['bytes_per_second'] / 1e9:.0f} GB/s" if "bytes_per_second" in figures else "-"


def demo_table(steps):
    rows = []
    for name, step in steps:
        f = step.get("figures", {})
        said = [f"{k} {f[k]}" for k in ("relative_difference", "tolerance", "equal", "steps") if k in f]
        said += [f"accuracy {e['test_accuracy']:.4f} after epoch {e['epoch']}" for e in f.get("epochs", [])[-1:]]
        rows.append([name, outcome(step), ", ".join(said) or "-", step.get("seconds", "-")])
    return table(["step", "outcome", "figures", "s"], rows)


def plain_table(steps):
    return table(["step", "outcome", "s"], [[name, outcome(s), s.get("seconds", "-")] for name, s in steps])


TABLES = {"build": plain_table, "tests": tests_table, "sanitizer": tests_table, "demo": demo_table,
          "bench": bench_tables}


def markdown(result):
    parts = ["# GPU check\n"]
    if result["stand_in"]:
        parts.append("**Run on the tests' stand-in for a GPU, to try the script: no figure means anything.**\n")
    parts.append(table(["", ""], result["machine"].items()))
    for part in PARTS:
        steps = [(name, s) for name, s in result["steps"].items() if s["part"] == part]
        if steps:
            parts += [f"## {part}\n", TABLES[part](steps)]
    if result["left"]:
        parts.append("Not run yet: " + ", ".join(result["left"]) + ".\n")
    return "\n".join(parts)


def write(state, machine, stand_in, left):
    """Writes both files and returns the path of the Markdown file."""
    result = {"schema_version": 1, "machine": machine, "stand_in": stand_in, "left": left, "steps": state.steps}
    (state.folder / "results.json").write_text(json.dumps(result, indent=1) + "\n")
    path = state.folder / "report.md"
    path.write_text(markdown(result))
    return path
