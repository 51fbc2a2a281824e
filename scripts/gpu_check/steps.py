# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Steps, each of which runs once: a state file in the folder of results says which are done."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import time

DONE = {"passed", "failed", "skipped"}


@dataclasses.dataclass
class Step:
    """A command of a part, and how its output is read."""

    name: str
    part: str
    command: list
    environment: dict = dataclasses.field(default_factory=dict)
    timeout: float = 500
    writes: object = None  # the file that `read` reads: none is there when the command starts
    read: object = None  # log -> the figures that the report shows; "nothing_run" is a reason to call it skipped
    skip: str = ""  # the reason not to run it
    essential: bool = False  # nothing goes on where it fails


class State:
    """{step: {"status", "seconds", "figures", ...}}, written after every change."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "logs").mkdir(parents=True, exist_ok=True)
        self.file = self.folder / "state.json"
        self.steps = json.loads(self.file.read_text()) if self.file.exists() else {}

    def done(self, step):
        return self.steps.get(step.name, {}).get("status") in DONE

    def note(self, step, **what):
        self.steps[step.name] = {"part": step.part, "command": " ".join(map(str, step.command)), **what}
        fresh = self.file.with_suffix(".new")
        fresh.write_text(json.dumps(self.steps, indent=1))
        os.replace(fresh, self.file)

    def forget(self, part):
        self.steps = {name: s for name, s in self.steps.items() if s["part"] != part}

    def log(self, step):
        return self.folder / "logs" / (step.name.replace("/", "_") + ".log")


def run_command(step, log, seconds):
    """The exit status, or None if the time ran out; then the whole process group is ended."""
    with log.open("wb") as file:
        process = subprocess.Popen(step.command, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   env={**os.environ, **step.environment}, start_new_session=True)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None


def run_step(step, state, seconds):
    """Runs the step for at most `seconds`; a step that had less than its own time is left for the next call."""
    log = state.log(step)
    if step.writes:
        step.writes.unlink(missing_ok=True)
    started = time.monotonic()
    try:
        code = run_command(step, log, min(seconds, step.timeout))
    except OSError as e:
        state.note(step, status="failed", seconds=0, reason=f"cannot be run: {e}; is the part build done?")
        return
    took = round(time.monotonic() - started, 1)
    if code is None and seconds < step.timeout:
        state.note(step, status="interrupted", seconds=took)
        return
    figures = {}
    status = "passed" if code == 0 else "failed"
    try:
        figures = step.read(log.read_text(errors="replace")) if step.read else {}
    except (OSError, ValueError, KeyError) as e:
        if status == "passed":  # else there is nothing to read, and the log says why
            status, figures = "failed", {"unreadable": f"{type(e).__name__}: {e}"}
    nothing_run = figures.pop("nothing_run", "")
    if status == "passed" and nothing_run:
        status = "skipped"
    reason = nothing_run if code is not None else f"not done after {step.timeout:.0f} s"
    state.note(step, status=status, seconds=took, exit=code, figures=figures, reason=reason)


def run_all(steps, state, budget, say):
    """Runs the steps that are not done until the time is over, and returns the steps that are left."""
    end = time.monotonic() + budget
    for i, step in enumerate(steps):
        if state.done(step):
            if step.essential and state.steps[step.name]["status"] == "failed":
                say(f"{step.name} failed before; see {state.log(step)}; 'run --again {step.part}' repeats it")
                return []
            continue
        if step.skip:
            state.note(step, status="skipped", reason=step.skip)
            say(f"{step.name}: skipped: {step.skip}")
            continue
        left = end - time.monotonic()
        if left < min(30, budget / 2):
            return steps[i:]
        say(f"{step.name} ...")
        run_step(step, state, left)
        result = state.steps[step.name]
        say(f"{step.name}: {result['status']} after {result['seconds']} s")
        if result["status"] == "interrupted":
            return steps[i:]
        if result["status"] == "failed":
            say(f"  see {state.log(step)}")
            if step.essential:
                return []
    return []
