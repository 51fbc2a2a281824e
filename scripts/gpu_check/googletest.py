# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""GoogleTest's programs: which tests a step runs, what came out, and what is run again alone.

A GPU that has had an error refuses all further work of the process. So one bad test may fail all that come after it
in its program; each failed test is run once more in a process of its own, and the report has both results.
"""

import dataclasses
import json
import re

from .steps import Step

NO_GPU = "there is no GPU"
MOST_ALONE = 20
MOST_RESTS, QUICK_RESTS = 3, 1  # times that a program which crashed is started once more for the tests behind the crash
ALONE_TIMEOUT = 120


@dataclasses.dataclass
class Filter:
    """Patterns of names of tests, as --gtest_filter takes them."""

    only: tuple = ()
    without: tuple = ()

    def argument(self):
        text = ":".join(self.only) + ("-" + ":".join(self.without) if self.without else "")
        return [f"--gtest_filter={text}"] if text else []


def from_json(file):
    cases = [case for suite in json.loads(file.read_text())["testsuites"] for case in suite["testsuite"]]
    return {"tests": len(cases), "skipped": sum(case["result"] == "SKIPPED" for case in cases),
            "failed": [f"{case['classname']}.{case['name']}" for case in cases if "failures" in case]}


def from_log(log):
    """What a program that did not come to its end has said. The last test that began counts as failed."""
    begun = re.findall(r"^\[ RUN      \] (\S+)", log, re.MULTILINE)
    ended = {name: result for result, name in re.findall(r"^\[ +(OK|FAILED|SKIPPED) +\] ([^\s,]+)", log, re.MULTILINE)}
    unfinished = [name for name in begun if name not in ended]
    if not unfinished:
        raise ValueError("the program wrote no results, and was in no test")
    return {"tests": len(begun), "skipped": sum(ended.get(name) == "SKIPPED" for name in begun), "unfinished": unfinished[-1],
            "begun": begun, "failed": [name for name in begun if ended.get(name, "FAILED") == "FAILED"]}


def read_tests(file):
    """Counts and failures of a GoogleTest program that writes its results to `file`."""
    def read(log):
        figures = from_json(file) if file.exists() else from_log(log)
        reasons = sorted(set(re.findall(r"needs \d+ devices|" + NO_GPU, log)))
        if NO_GPU in reasons:
            figures["nothing_run"] = NO_GPU
        elif figures["skipped"] == figures["tests"]:
            figures["nothing_run"] = reasons[0] if reasons else "every test was skipped, or none has such a name"
        return {**figures, "reasons": reasons}
    return read


@dataclasses.dataclass
class Program:
    """A test program on some devices, and what makes steps of it."""

    plan: object
    part: str
    name: str  # of the step
    folder: str
    devices: str
    environment: dict = dataclasses.field(default_factory=dict)
    wrap: tuple = ()  # the command that runs the program
    timeout: float = 500
    filter: Filter = dataclasses.field(default_factory=Filter)
    skip: object = None

    def results(self, name):
        file = self.plan.out / "tests" / (re.sub(r"\W", "_", name) + ".json")
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def step(self):
        return self.make(self.name, self.filter, self.timeout, self.environment,
                         lambda result: self.again(result, self.filter, 1))

    def shards(self, count):
        """Its tests in `count` steps, each of which has the program's time."""
        return [dataclasses.replace(self, name=f"{self.name}/{i + 1}of{count}", environment={
            **self.environment, "GTEST_TOTAL_SHARDS": str(count), "GTEST_SHARD_INDEX": str(i)}).step() for i in range(count)]

    def make(self, name, chosen, timeout, environment, follow=lambda result: []):
        file = self.results(name)
        skip = {"skip": self.skip} if self.skip else {}
        return Step(name, self.part, [*self.wrap, self.plan.test_program(self.folder), *chosen.argument()],
                    {**self.plan.environment(), "TANDEM_TEST_DEVICE": "cuda", "TANDEM_TEST_DEVICES": self.devices,
                     "RC_PARAMS": "max_success=20", **environment, "GTEST_OUTPUT": f"json:{file}"},
                    timeout=timeout, read=read_tests(file), writes=file, follow=follow, **skip)

    def again(self, result, chosen, round_):
        """Each failed test alone; then the tests that a crash or the end of the time has left out."""
        figures = result.get("figures", {})
        whole = {k: v for k, v in self.environment.items() if not k.startswith("GTEST_")}
        steps = [self.make(f"{self.name}/alone/{test}", Filter((test,)), min(self.timeout, ALONE_TIMEOUT), whole)
                 for test in figures.get("failed", [])[:MOST_ALONE]]
        # A shard is counted among the tests of the filter, so another filter would give it other tests.
        rests = QUICK_RESTS if self.plan.quick else MOST_RESTS
        if figures.get("unfinished") and round_ <= rests and whole == self.environment:
            rest = Filter(chosen.only, (*chosen.without, *figures["begun"]))
            steps.append(self.make(f"{self.name}/rest{round_}", rest, self.timeout, whole,
                                   lambda later: self.again(later, rest, round_ + 1)))
        return steps
