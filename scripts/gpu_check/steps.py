# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Steps, each of which runs once: a state file in the folder of results says which are done."""

import ctypes
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import time

# What has run, and is not run again. A step that is "not run" is asked for its reason again in each call.
DONE = {"passed", "failed", "skipped"}
# CUDA numbers GPUs by speed unless it is told otherwise; nvidia-smi always does it by PCI address.
ENVIRONMENT = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
MOST_INTERRUPTIONS = 3
C_LIBRARY, PR_SET_PDEATHSIG = ctypes.CDLL(None), 1


def always(_):
    """The reason not to run a step that always runs."""
    return ""


def nothing(_):
    """The steps that follow from the result of a step from which none does."""
    return []


@dataclasses.dataclass
class Step:
    """A command of a part, and how its output is read."""

    name: str
    part: str
    command: list
    environment: dict = dataclasses.field(default_factory=dict)
    timeout: float = 500
    writes: object = None  # the file that `read` reads: none is there when the command starts
    # log -> the figures that the report shows. "failed" lists what failed though the exit status may be 0,
    # and "nothing_run" is a reason to call the step skipped.
    read: object = None
    skip: object = always  # state -> the reason not to run it; asked when its turn comes
    follow: object = nothing  # result -> steps that it calls for, which run next
    essential: bool = False  # nothing goes on where it fails
    resumes: bool = False  # the command continues where it was ended, so it may be interrupted any number of times


class State:
    """{step: {"status", "seconds", "figures", ...}}, written after every change."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "logs").mkdir(parents=True, exist_ok=True)
        self.file = self.folder / "state.json"
        self.steps = json.loads(self.file.read_text()) if self.file.exists() else {}

    def status(self, name):
        return self.steps.get(name, {}).get("status", "")

    def done(self, step):
        return self.status(step.name) in DONE

    def figures(self, name):
        return self.steps.get(name, {}).get("figures", {})

    def note(self, step, **what):
        self.steps[step.name] = {"part": step.part, "command": " ".join(map(str, step.command)), **what}
        fresh = self.file.with_suffix(".new")
        fresh.write_text(json.dumps(self.steps, indent=1))
        os.replace(fresh, self.file)

    def forget(self, part):
        self.steps = {name: s for name, s in self.steps.items() if s["part"] != part}

    def log(self, step):
        return self.folder / "logs" / (step.name.replace("/", "_") + ".log")


def end_with_parent():
    """A step does not outlive gpu-check: nobody would wait for it, and it would disturb the next call."""
    C_LIBRARY.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run_command(step, log, seconds):
    """The exit status, or None if the time ran out. The whole process group ends with the step."""
    with log.open("wb") as file:
        process = subprocess.Popen(step.command, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   env={**os.environ, **ENVIRONMENT, **step.environment}, start_new_session=True,
                                   preexec_fn=end_with_parent)
        try:
            return process.wait(seconds)
        except BaseException as e:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(e, subprocess.TimeoutExpired):
                return None
            raise  # gpu-check itself is told to end


def end_of(code):
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"


def last_line(log):
    lines = log.strip().splitlines()
    return lines[-1].strip()[:300] if lines else "it printed nothing"


def result_of(step, log, code):
    """Status, figures and reason of a step that has ended, from its log and its exit status."""
    figures, reason = {}, ""
    status = "passed" if code == 0 else "failed"
    try:
        figures = step.read(log) if step.read else {}
    except (OSError, ValueError, KeyError) as e:
        if status == "passed":  # else there is nothing to read, and the log says why
            status, reason = "failed", f"its output cannot be read: {type(e).__name__}: {e}"
    nothing_run = figures.pop("nothing_run", "")
    if status == "passed" and figures.get("failed"):
        status = "failed"
    if code is None:
        reason = f"not done after {step.timeout:.0f} s"
    elif nothing_run:
        reason, status = nothing_run, "skipped" if status == "passed" else status
    elif status == "failed" and not reason and (not figures or code not in (0, 1)):
        reason = f"{end_of(code)}: {last_line(log)}"
    return {"status": status, "figures": figures, "reason": reason}


def run_step(step, state, seconds):
    """Runs the step for at most `seconds`; a step that had less than its own time is left for the next call."""
    log = state.log(step)
    interruptions = state.steps.get(step.name, {}).get("interruptions", 0)
    if step.writes:
        step.writes.unlink(missing_ok=True)
    state.note(step, status="running", interruptions=interruptions)
    started = time.monotonic()
    try:
        code = run_command(step, log, min(seconds, step.timeout))
    except OSError as e:
        state.note(step, status="failed", seconds=0, reason=f"cannot be run: {e}; is the part build done?")
        return
    took = round(time.monotonic() - started, 1)
    if code is None and seconds < step.timeout and (step.resumes or interruptions + 1 < MOST_INTERRUPTIONS):
        state.note(step, status="interrupted", seconds=took, interruptions=interruptions + 1)
        return
    result = result_of(step, log.read_text(errors="replace"), code)
    if code is None and seconds < step.timeout:
        result["reason"] = f"not done in any of {MOST_INTERRUPTIONS} calls; give --budget more than {step.timeout:.0f} s"
    state.note(step, seconds=took, exit=code, **result)


class Runner:
    """Runs steps until the time is over, and tells `report` of each that has ended."""

    def __init__(self, state, budget, say, report=lambda left, because: None):
        self.state, self.budget, self.say, self.report = state, budget, say, report
        self.end = time.monotonic() + budget
        self.because = ""  # the essential step that failed, so that nothing followed

    def run_all(self, steps):
        """The names of the steps that are left."""
        todo = list(steps)
        while todo:
            step = todo[0]
            if not self.state.done(step) and not self.run_one(step):
                break
            if step.essential and self.state.status(step.name) == "failed":
                self.because = step.name
                self.say(f"{step.name} has failed, so nothing follows; see {self.state.log(step)}; "
                         f"'run --again {step.part}' repeats it")
                todo = todo[1:]
                break
            if self.state.done(step):
                todo[1:1] = step.follow(self.state.steps[step.name])
            todo = todo[1:]
            self.report([s.name for s in todo], "")
        left = [step.name for step in todo]
        self.report(left, self.because)
        return [] if self.because else left

    def run_one(self, step):
        """Whether there was time for the step to end."""
        reason = step.skip(self.state)
        if reason:
            if self.state.steps.get(step.name, {}).get("reason") != reason:
                self.say(f"{step.name}: not run: {reason}")
            self.state.note(step, status="not run", reason=reason)
            return True
        left = self.end - time.monotonic()
        if left < min(30, self.budget / 2):
            return False
        self.say(f"{step.name} ...")
        run_step(step, self.state, left)
        result = self.state.steps[step.name]
        reason = f": {result['reason']}" if result.get("reason") else ""
        self.say(f"{step.name}: {result['status']} after {result['seconds']} s{reason}")
        if result["status"] == "failed":
            self.say(f"  see {self.state.log(step)}")
        return result["status"] != "interrupted"
