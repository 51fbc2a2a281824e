# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Stages of steps, each within its time and all within theirs, and the exit status: `gpu-check brief` and `gpu-check torch`."""

import json
import math
import signal
import time
from dataclasses import dataclass, replace

from . import steps

OK, FAILED, WRONG, LEFT = 0, 1, 2, 3
LEAST = 1  # seconds that are worth a start
NO_TIME = "no time was left"


@dataclass
class Stage:
    name: str
    seconds: float  # that it may take
    shows: str
    steps: list


class OutOfTime(BaseException):
    """The whole check is at its end, while a step could not even be killed."""


def out_of_time(signal_number, _):
    raise OutOfTime(signal_number)


class Staged:
    """A class of it says how its results are written: `report` returns the path, and `stage_table` the text that is printed."""

    on_a_gpu = set()  # the stages in which tandem does something on a GPU

    def __init__(self, stages, out, subject, seconds, say, started):
        """`subject`, as data, is what is checked: a call continues what an earlier one of the same has left in `out`."""
        self.say, self.out = say, out
        self.started, self.seconds = started, seconds
        self.end = started + seconds - min(5, seconds / 20)  # a report takes its time too
        self.state = steps.State(out)
        self.forget_another(subject)
        self.stages = stages
        self.steps = [step for stage in self.stages for step in stage.steps]
        self.forget_what_stopped_it()
        self.took = {}  # seconds of each stage that has begun
        self.runner = steps.Runner(self.state, math.inf, say)

    def forget_another(self, subject):
        file = self.out / "subject.json"
        text = json.dumps(subject)
        if not file.exists() or file.read_text() != text:
            self.state.steps = {}
            file.write_text(text)

    def stopped_by(self):
        """The essential step that has failed, if one has."""
        return next((step.name for step in self.steps if step.essential and self.state.status(step.name) == "failed"), "")

    def forget_what_stopped_it(self):
        """Somebody may have put right what was missing."""
        self.state.steps.pop(self.stopped_by(), None)

    def run(self):
        """The exit status. The alarm repeats itself, since a process that the driver holds does not end when it is killed."""
        signal.signal(signal.SIGALRM, out_of_time)
        at = self.started + self.seconds - min(2, self.seconds / 50)
        signal.setitimer(signal.ITIMER_REAL, max(0.1, at - time.monotonic()), 1)
        try:
            for stage in self.stages:
                self.run_stage(stage)
                self.report()
                print(self.stage_table(), flush=True)
                if self.stopped_by():
                    self.note_the_rest(f"{self.stopped_by()} has failed")
                    break
        except KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.say("interrupted; the report has what ended")
            self.note_what_ran(status="interrupted")
        except OutOfTime:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.note_what_ran(status="failed", reason="it did not end when it was killed")
            self.note_the_rest(NO_TIME)
        signal.setitimer(signal.ITIMER_REAL, 0)
        return self.status(self.report())

    def run_stage(self, stage):
        begun = time.monotonic()
        todo = [step for step in stage.steps if not self.state.done(step)]
        try:
            while todo:
                step = todo.pop(0)
                self.run_step(step, min(begun + stage.seconds, self.end) - time.monotonic())
                todo[:0] = step.follow(self.state.steps[step.name])
        finally:
            self.took[stage.name] = round(time.monotonic() - begun, 1)

    def run_step(self, step, left):
        failed = self.stopped_by()
        reason = f"{failed} has failed" if failed else NO_TIME if left < LEAST else ""
        if reason:
            self.state.note(step, status="not run", reason=reason)
            return
        try:
            self.runner.run_one(replace(step, timeout=min(step.timeout, left)))
        except Exception as e:  # what it printed is none of what was expected; the other steps run nevertheless
            self.state.note(step, status="failed", reason=f"{type(e).__name__}: {e}")
        for what in self.state.figures(step.name).get("missing", []):
            self.say(f"  {what}")

    def note_what_ran(self, **result):
        for step in self.steps:
            if self.state.status(step.name) == "running":
                self.state.note(step, **result)

    def note_the_rest(self, reason):
        for step in self.steps:
            if not self.state.status(step.name):
                self.state.note(step, status="not run", reason=reason)

    def status(self, path):
        failed = [name for name, s in self.state.steps.items() if s["status"] == "failed"]
        left = [step.name for step in self.steps if self.state.status(step.name) in ("", "interrupted") or
                self.state.steps[step.name].get("reason") == NO_TIME]
        self.say(f"{path}: failed: {', '.join(failed) or 'none'}")
        if left:
            self.say(f"{len(left)} steps are left, from {left[0]} on: the same command continues")
            return LEFT
        if not any(s["part"] in self.on_a_gpu and s["status"] == "passed" for s in self.state.steps.values()):
            self.say("nothing ran on a GPU, so nothing is shown")
            return FAILED
        return FAILED if failed else OK
