# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""One call of `gpu-check run`: what is missing, the steps, the report, the exit status."""

import math

from . import driver, machine, report, requirements, steps
from .parts import PARTS, steps_of
from .plan import STAND_IN_GPUS, Plan

OK, FAILED, LEFT = 0, 1, 3
OF_TANDEM = {"tests", "roofline", "sanitizer", "demo", "bench"}  # the parts that run tandem on a GPU
NOT_OF_TANDEM = {"bench/pytorch", "bench/ops-pytorch"}  # their steps that run something else


def ran_on_gpu(name, step):
    """Whether tandem did something on a GPU in the step; failed tests also did."""
    figures = step.get("figures", {})
    if step["part"] not in OF_TANDEM or name in NOT_OF_TANDEM or step["status"] not in ("passed", "failed"):
        return False
    return figures["tests"] > figures["skipped"] if "tests" in figures else step["status"] == "passed"


class Check:
    def __init__(self, root, args, say):
        self.root, self.args, self.say = root, args, say
        self.parts = list(args.part or PARTS)
        if set(self.parts) & OF_TANDEM and "device" not in self.parts:
            self.parts.append("device")
        self.parts.sort(key=PARTS.index)
        self.state = steps.State(args.out.resolve())
        for part in args.again:
            self.state.forget(part)
        self.driver = driver.ask(steps.ENVIRONMENT) if not args.stand_in else {"gpus": [{}] * STAND_IN_GPUS, "error": ""}
        self.missing, self.notes = [], requirements.notes(args.stand_in)
        self.plan = self.make_plan()

    def needs_gpu(self):
        return not self.args.stand_in and self.parts != ["build"]

    def make_plan(self):
        args, gpus = self.args, self.driver["gpus"]
        self.missing = requirements.missing_tools(self.root)
        architectures, refused = ([args.arch], []) if args.arch or args.stand_in else requirements.architectures(gpus)
        if self.needs_gpu():
            self.missing += requirements.missing_driver(self.driver) + refused
        elif not architectures:
            self.missing.append("a GPU to build for; or name its architecture by --arch")
        return Plan(self.root, args.out.resolve(), [a for a in architectures if a], requirements.generator(),
                    requirements.compiler(), args.stand_in, args.rounds, args.quick, gpus)

    def ran_on_gpu(self):
        return any(ran_on_gpu(*step) for step in self.state.steps.items())

    def describe(self):
        """What the report says of the machine, with what the steps have found out."""
        libraries = {library: self.state.figures("configure").get(library, "not known yet") for library in ("cuDNN", "NCCL")}
        torch = self.state.figures("bench/pytorch")
        version = f"{torch['version']}, CUDA {torch['cuda'] or 'none'}" if torch.get("version") else "not found"
        gpus = {**self.driver, "gpus": []} if self.args.stand_in else self.driver
        return {**machine.describe(self.root, self.plan, gpus), **libraries, "PyTorch": version if torch else "not known yet"}

    def report(self, left, because):
        return report.write(self.state, machine=self.describe(), topology="" if self.args.stand_in else machine.topology(),
                            notes=self.notes, missing=self.missing, stand_in=self.args.stand_in, quick=self.args.quick,
                            left=left, because=because, ran_on_gpu=self.ran_on_gpu())

    def run(self):
        """The exit status."""
        if self.missing:
            self.say("this is missing:")
            for what in self.missing:
                self.say(f"  {what}")
            self.say(f"nothing ran; the report is {self.report([], '')}")
            return FAILED
        for note in self.notes:
            self.say(note)
        todo = [step for part in self.parts for step in steps_of(part, self.plan)]
        budget = math.inf if self.args.until_done else self.args.budget
        runner = steps.Runner(self.state, budget, self.say, self.report)
        self.report([step.name for step in todo], "")
        left = runner.run_all(todo)
        return self.status(left)

    def status(self, left):
        failed = [name for name, s in self.state.steps.items() if s["status"] == "failed"]
        self.say(f"{self.state.folder / 'report.md'}: {len(self.state.steps)} steps known, failed: {', '.join(failed) or 'none'}")
        if left:
            self.say(f"{len(left)} steps are left, from {left[0]} on: run the same command again (without --again)")
            return LEFT
        if set(self.parts) & OF_TANDEM and not self.ran_on_gpu():
            self.say("nothing ran on a GPU, so nothing is shown")
            return FAILED
        return FAILED if failed else OK
