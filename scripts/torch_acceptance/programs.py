# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Builds the test programs and runs them."""

import json
import os
import pathlib
import subprocess
import tempfile

TARGETS = {"theirs": "torch_acceptance", "ours": "libtorch_test"}
PLACES = {"theirs": "tests/libtorch/acceptance/torch_acceptance", "ours": "tests/libtorch/libtorch_test"}
DEVICES = "cpu:4"


class BuildError(Exception):
    """The programs could not be built; the text says why."""


def build(root, folder, source, jobs, timeout):
    """Builds in `folder`, which is made with the preset release where it is none of CMake's."""
    start = ["cmake"] if (folder / "CMakeCache.txt").exists() else ["cmake", "--preset", "release"]
    commands = [[*start, "-S", root, "-B", folder, "-D", "TANDEM_TORCH=ON", "-D", f"TANDEM_TORCH_ACCEPTANCE={source}"],
                ["cmake", "--build", folder, "--parallel", str(jobs), "--target", *TARGETS.values()]]
    for command in commands:
        try:
            done = subprocess.run([str(c) for c in command], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  encoding="utf-8", errors="replace", timeout=timeout, check=False)
        except subprocess.TimeoutExpired as e:
            raise BuildError(f"the build is not finished after {timeout} s; --timeout gives it more") from e
        except OSError as e:
            raise BuildError(f"cmake cannot be run: {e}") from e
        if done.returncode != 0:
            raise BuildError("\n".join(done.stdout.splitlines()[-40:]))


def base_name(suite, case):
    """"Suite.Case" of an instance "Values/Suite.Case/0"."""
    return f"{suite.split('/')[1] if '/' in suite else suite}.{case.split('/')[0]}"


def results(report):
    """{test: "pass", "fail" or "skip"} of GoogleTest's JSON. A test of several instances has the worst of their results."""
    rank = ["pass", "skip", "fail"]
    found = {}
    for suite in report.get("testsuites", []):
        for test in suite.get("testsuite", []):
            if test.get("status") == "NOTRUN":
                continue
            result = "fail" if test.get("failures") else "skip" if test.get("result") == "SKIPPED" else "pass"
            name = base_name(suite["name"], test["name"])
            found[name] = max(found.get(name, "pass"), result, key=rank.index)
    return found


def run(program, names, timeout):
    """({test: result}, what was printed). A program that crashes or hangs has failed in all tests that it was to run."""
    with tempfile.TemporaryDirectory(prefix="tandem-test-") as scratch:
        report = pathlib.Path(scratch, "report.json")
        patterns = ":".join(f"{n}:*/{n}/*:{n}/*" for n in names)
        command = [str(program), f"--gtest_filter={patterns}", f"--gtest_output=json:{report}"]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
                                  timeout=timeout, check=False, env={**os.environ, "TANDEM_DEVICES": DEVICES})
            text = done.stdout
        except subprocess.TimeoutExpired:
            return dict.fromkeys(names, "fail"), f"not finished after {timeout} s"
        if not report.exists():
            return dict.fromkeys(names, "fail"), text + f"\nended with {done.returncode}, without a report"
        return results(json.loads(report.read_text())), text
