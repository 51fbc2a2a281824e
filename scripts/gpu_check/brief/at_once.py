# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that run at the same time and count as one, and the program that runs them: at_once.py FILE

FILE has [{"name", "command", "environment", "log", "writes"}]. The status is 1 if one of them ends with another than 0.
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from gpu_check.steps import Step, end_of, end_with_parent, last_line  # noqa: E402

MOST_ALONE = 4  # failed tests of a program that run once more


def start(what):
    pathlib.Path(what["writes"]).unlink(missing_ok=True)
    with open(what["log"], "wb") as log:
        return subprocess.Popen(what["command"], stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                env={**os.environ, **what["environment"]}, preexec_fn=end_with_parent)


def main(file):
    running = [(what["name"], start(what)) for what in json.loads(pathlib.Path(file).read_text())]
    codes = {name: process.wait() for name, process in running}
    for name, code in codes.items():
        print(f"{name}: {end_of(code)}")
    return int(any(codes.values()))


def merged(parts):
    """Figures of all from the figures of each: [(program, step, log)]."""
    found = {"tests": 0, "skipped": 0, "failed": [], "reasons": [], "of": {}}
    for program, step, log in parts:
        text = log.read_text(errors="replace") if log.exists() else ""
        try:
            figures = step.read(text)
        except (OSError, ValueError, KeyError):
            found["failed"].append(f"{step.name} ({last_line(text)})")
            continue
        found["tests"] += figures["tests"]
        found["skipped"] += figures["skipped"]
        found["failed"] += figures["failed"]
        found["reasons"] = sorted({*found["reasons"], *figures["reasons"]})
        found["of"].setdefault(program.folder, []).extend(figures["failed"])
    if found["tests"] == found["skipped"] and not found["failed"]:
        found["nothing_run"] = ", ".join(found["reasons"]) or "every test was skipped"
    return found


def together(name, part, shards, out, timeout):
    """The shards of programs, {program: how many}, as one step; some of the tests that failed then run alone."""
    programs = {program.folder: dataclasses.replace(program, name=name) for program, _ in shards}
    parts = [(program, step, out / "logs" / (step.name.replace("/", "_") + ".log"))
             for program, count in shards for step in program.shards(count)]
    file = out / "tests" / (name.replace("/", "_") + "-at-once.json")
    file.write_text(json.dumps([
        {"name": step.name, "command": list(map(str, step.command)), "environment": step.environment, "log": str(log),
         "writes": str(step.writes)} for _, step, log in parts]))

    def follow(result):
        return [step for folder, failed in result.get("figures", {}).get("of", {}).items()
                for step in programs[folder].again({"figures": {"failed": failed[:MOST_ALONE]}}, programs[folder].filter, 1)]
    return Step(name, part, [sys.executable, "-B", __file__, file], timeout=timeout, read=lambda log: merged(parts),
                follow=follow)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
