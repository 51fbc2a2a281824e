# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the stages, and writes what each has told before the next begins."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = ROOT / "tests" / "python" / "gpu_memory" / "programs"
HARDWARE = pathlib.Path(__file__).with_name("hardware.py")
SECONDS = 480  # of all stages; they may take less


@dataclasses.dataclass(frozen=True)
class Stage:
    """A program of Python that prints lines of JSON, within its time."""

    name: str
    seconds: int
    command: tuple
    status: int = 0  # that it should end with


def stages(folder):
    train = str(PROGRAMS / "train.py")
    return [
        Stage("context", 30, (str(HARDWARE), "context")),
        Stage("workspaces", 60, (str(HARDWARE), "workspaces")),
        Stage("fragments", 40, (str(HARDWARE), "fragments")),
        Stage("models", 110, (str(PROGRAMS / "measured.py"),)),
        Stage("command", 40, ("-m", "tandem", "memory", "--json", str(folder / "command.json"), "--report", str(folder / "command.html"), train)),
        Stage("out of memory", 60, ("-m", "tandem", "memory", "--step", "999", str(HARDWARE), "full"), 1),
        Stage("advice", 130, (str(PROGRAMS / "advised.py"), str(folder / "rendezvous"))),
    ]


def run_stage(stage, seconds):
    """What came of it, as data."""
    paths = [ROOT / "python", PROGRAMS, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        try:
            status = subprocess.run([sys.executable, *stage.command], stdout=output, stderr=errors, env=environment,
                                    timeout=seconds, check=False).returncode
        except subprocess.TimeoutExpired:
            status = None
        output.seek(0)
        errors.seek(0)
        lines, complaints = output.read().splitlines(), errors.read()
    told = [json.loads(line) for line in lines if line.startswith("{")]
    return {"stage": stage.name, "seconds": round(time.monotonic() - begin, 1), "status": status, "passed": status == stage.status,
            "told": told, "errors": complaints[-4000:]}


def table(results):
    lines = ["# What fills PyTorch's GPUs", "", "| stage | seconds | result |", "|---|---|---|"]
    for result in results:
        ended = "did not end in its time" if result["status"] is None else f"status {result['status']}"
        lines.append(f"| {result['stage']} | {result['seconds']} | {'passed' if result['passed'] else ended} |")
    for result in results:
        if not result["passed"]:
            lines += ["", f"{result['stage']}:", "", "```", result["errors"], "```"]
    return "\n".join(lines) + "\n"


def run(out, seconds, say):
    """Returns the exit status: 0, or 1 if a stage failed."""
    out.mkdir(parents=True, exist_ok=True)
    end, results = time.monotonic() + seconds, []
    for stage in stages(out.resolve()):
        left = end - time.monotonic()
        if left <= 0:
            say(f"{stage.name}: no time is left")
            break
        results.append(run_stage(stage, min(stage.seconds, left)))
        (out / "results.json").write_text(json.dumps(results, indent=1))
        (out / "report.md").write_text(table(results))
        say(f"{stage.name}: {'passed' if results[-1]['passed'] else 'failed'} after {results[-1]['seconds']} s")
    return 0 if len(results) == len(stages(out)) and all(result["passed"] for result in results) else 1
