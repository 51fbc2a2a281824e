# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Builds the test programs and runs them."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from . import mapping

TARGETS = {"C++": ["torch_acceptance", "libtorch_test"], "Python": ["tandem_python"]}
PLACES = {"theirs": "tests/libtorch/acceptance/torch_acceptance", "ours": "tests/libtorch/libtorch_test"}
DEVICES = "cpu:4"


class BuildError(Exception):
    """The programs could not be built; the text says why."""


def build(root, folder, sources, jobs, timeout):
    """Builds in `folder`, which is made with the preset release where it is none of CMake's. `sources`: {language: PyTorch's file}"""
    start = ["cmake"] if (folder / "CMakeCache.txt").exists() else ["cmake", "--preset", "release"]
    options = {"C++": lambda file: f"TANDEM_TORCH_ACCEPTANCE={file}", "Python": lambda _: "TANDEM_PYTHON=ON"}
    defined = [part for language, file in sources.items() for part in ("-D", options[language](file))]
    targets = [target for language in sources for target in TARGETS[language]]
    commands = [[*start, "-S", root, "-B", folder, "-D", "TANDEM_TORCH=ON", *defined],
                ["cmake", "--build", folder, "--parallel", str(jobs), "--target", *targets]]
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


def packages(folder):
    """Where Python finds PyTorch: beside the package whose headers the build has."""
    for line in (folder / "CMakeCache.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("LIBTORCH_INCLUDE_DIR:"):
            return str(pathlib.Path(line.partition("=")[2]).parents[1])
    raise BuildError(f"{folder}/CMakeCache.txt does not say where PyTorch is")


def run_python(folder, source, names, timeout):
    """The same as `run` for the cases of a Python file, mapped to tandem. Those without an outcome have failed."""
    with tempfile.TemporaryDirectory(prefix="tandem-test-") as scratch:
        cases, report = pathlib.Path(scratch, "mapped_cases.py"), pathlib.Path(scratch, "report.json")
        cases.write_text(mapping.mapped(source.read_text(encoding="utf-8")), encoding="utf-8")
        report.touch()
        command = [sys.executable, "-B", str(pathlib.Path(__file__).with_name("python_cases.py")), str(cases), str(report)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "python"), packages(folder)]), "OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
                                  timeout=timeout, check=False, env=environment, cwd=scratch)
            text = done.stdout if done.returncode == 0 else f"{done.stdout}\nended with {done.returncode}"
        except subprocess.TimeoutExpired:
            text = f"not finished after {timeout} s"
        lines = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
        texts = [f"{line['case']}: {line['text']}" for line in lines if line["result"] == "fail"]
        return dict.fromkeys(names, "fail") | {line["case"]: line["result"] for line in lines}, "\n".join([*texts, text])
