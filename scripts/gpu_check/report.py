# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""results.json and report.md from the state of the steps."""

import json
import os

from .parts import PARTS

LARGEST = 5  # ops of a profile that are shown


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(word) for word in line) + " |" for line in lines) + "\n"


def outcome(step):
    return f"{step['status']}: {step['reason']}" if step.get("reason") else step["status"]


def alone(name, failed, steps):
    """What became of a program's failed tests when each ran alone; the tests behind a crash are a step of their own."""
    program, known = name.split("/rest")[0], dict(steps)
    return [f"{test} {known[again]['status']} alone" for test in failed if (again := f"{program}/alone/{test}") in known]


def tests_table(steps):
    rows = []
    for name, step in steps:
        if "/alone/" in name:
            continue
        f = step.get("figures", {})
        rows.append([name, outcome(step), f.get("tests", "-"), f.get("skipped", "-"),
                     ", ".join(f.get("failed", [])) or "-", ", ".join(alone(name, f.get("failed", []), steps)) or "-",
                     ", ".join(f.get("reasons", [])) or "-", step.get("seconds", "-")])
    return table(["program", "outcome", "tests", "skipped", "failed", "each of them alone", "why skipped", "s"], rows)


def roofline_table(steps):
    rows = []
    for name, step in steps:
        figures = step.get("figures", {})
        rows += [[name, what, f"{f['real_time']:.4g} {f['time_unit']}", rate(f), *of_roof(f)]
                 for what, f in figures.items() if "real_time" in f]
        if "clocks" in figures:
            rows.append([name, ", ".join(f"{k} {v}" for k, v in figures["clocks"].items()), "-", "-", "-", "-"])
        if not figures:
            rows.append([name, outcome(step), "-", "-", "-", "-"])
    return table(["step", "what", "time", "rate", "roof", "of it"], rows)


def of_roof(figures):
    """The roof of a figure, and the share of it that is reached."""
    if "roof" not in figures:
        return ["-", "-"]
    kind = "FLOP/s" if "FLOP/s" in figures else "bytes_per_second"
    return [rate({kind: figures["roof"]}), f"{figures[kind] / figures['roof']:.0%}"]


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
        elif step["status"] == "passed" and name == "bench/ops":
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


TABLES = {"build": plain_table, "device": plain_table, "tests": tests_table, "roofline": roofline_table,
          "sanitizer": tests_table, "demo": demo_table, "bench": bench_tables}


def in_short(result):
    """One sentence on where the check stands."""
    failed = [name for name, s in result["steps"].items() if s["status"] == "failed"]
    said = [f"Failed: {', '.join(failed)}." if failed else "Nothing has failed."]
    if result["missing"]:
        said.append("The check cannot run, because this is missing:")
    elif result["because"]:
        said.append(f"Nothing followed, because {result['because']} has failed.")
    elif result["left"]:
        said.append(f"{len(result['left'])} steps are left.")
    elif not result["ran_on_gpu"]:
        said.append("Nothing ran on a GPU.")
    return " ".join(said) + "\n\n" + "".join(f"- {what}\n" for what in result["missing"])


def markdown(result):
    parts = ["# GPU check\n", in_short(result)]
    if result["stand_in"]:
        parts.append("**Run on the tests' stand-in for a GPU, to try the script: no figure means anything.**\n")
    parts.append(table(["", ""], result["machine"].items()))
    if result["topology"]:
        parts.append(f"```\n{result['topology']}\n```\n")
    parts += [f"- {note}" for note in result["notes"]] + [""]
    for part, steps in by_part(result["steps"]).items():
        parts += [f"## {part}\n", TABLES[part](steps)]
    if result["left"]:
        parts.append("Not run yet: " + ", ".join(result["left"]) + ".\n")
    return "\n".join(parts)


def by_part(steps):
    return {part: found for part in PARTS if (found := [(name, s) for name, s in steps.items() if s["part"] == part])}


def save(folder, result, text):
    """Writes both files, each at once, and returns the path of the Markdown file."""
    for name, content in (("results.json", json.dumps(result, indent=1) + "\n"), ("report.md", text)):
        fresh = folder / (name + ".new")
        fresh.write_text(content)
        os.replace(fresh, folder / name)
    return folder / "report.md"


def write(state, **what):
    result = {"schema_version": 2, **what, "steps": state.steps}
    return save(state.folder, result, markdown(result))
