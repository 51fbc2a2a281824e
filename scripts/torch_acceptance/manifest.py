# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The manifests: what each case of PyTorch's test files comes to in C++ and in Python, and how that is compared with a run."""

import tomllib
from dataclasses import dataclass, field

SKIP = "skip: "


class ManifestError(Exception):
    """The manifest cannot be used; the text says why."""


@dataclass
class Expected:
    """What is expected of a case: "pass" or "skip", with the tests of ours that have its meaning, or the reason."""
    language: str  # of the programs that the case is about: "C++" or "Python"
    file: str
    case: str
    result: str
    ours: list = field(default_factory=list)
    reason: str = ""


@dataclass
class Outcome:
    """What a case came to. `problem` is empty where it is what is expected."""
    language: str
    file: str
    case: str
    result: str  # "pass", "fail", "skip", or "absent"
    problem: str = ""
    ours: list = field(default_factory=list)
    reason: str = ""


def runs(language, file):
    """Whether the cases of a file are run themselves. Those of the other language have tests of ours in their place."""
    return file.endswith(".py") == (language == "Python")


def expected_of(language, file, case, value):
    if isinstance(value, str) and value.startswith(SKIP) and len(value) > len(SKIP):
        return Expected(language, file, case, "skip", reason=value.removeprefix(SKIP))
    if runs(language, file):
        if value == "pass":
            return Expected(language, file, case, "pass")
    elif isinstance(value, list) and value and all(isinstance(v, str) for v in value):
        return Expected(language, file, case, "pass", ours=value)
    kinds = '"pass"' if runs(language, file) else "a list of tests of ours"
    raise ManifestError(f"{file}: {case} = {value!r}; expected {kinds}, or \"{SKIP}\" with the reason")


def read(path, language):
    """(PyTorch's version, [Expected])"""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise ManifestError(f"{path}: cannot be read ({e.strerror})") from e
    except tomllib.TOMLDecodeError as e:
        raise ManifestError(f"{path}: {e}") from e
    version = document.pop("version", None)
    if not isinstance(version, str) or not document:
        raise ManifestError(f'{path}: expected version = "..." and a table for each file')
    return version, [expected_of(language, file, case, value) for file, cases in document.items() for case, value in cases.items()]


def unknown(expected, found):
    """Outcomes of the cases that a file has and the manifest has not. `found`: {file: [case]}."""
    known = {(e.language, e.file, e.case) for e in expected}
    files = dict.fromkeys((e.language, e.file) for e in expected)
    return [Outcome(language, file, case, "absent", "the manifest does not know this case: enter it")
            for language, file in files for case in found[file] if (language, file, case) not in known]


def result_of(results):
    """One result for several: the worst."""
    return next(r for r in ("absent", "fail", "skip", "pass") if r in results)


def outcome(e, found, ran):
    """What became of a case. `ran`: {test: result} of all tests that ran, PyTorch's and ours."""
    def came_to(result, problem=""):
        return Outcome(e.language, e.file, e.case, result, problem, e.ours, e.reason)

    if e.case not in found.get(e.file, []):
        return came_to("absent", f"{e.file} has no such case any more")
    if e.ours:
        results = {name: ran.get(name, "absent") for name in e.ours}
        result = result_of(results.values())
        return came_to(result, "" if result == "pass" else "; ".join(f"{n}: {r}" for n, r in results.items() if r != "pass"))
    if not runs(e.language, e.file):
        return came_to("skip")
    result = ran.get(e.case, "absent")
    if e.result == "skip":
        return came_to("skip" if result in ("fail", "skip") else result,
                       "it passes now: enter it as \"pass\"" if result == "pass" else "")
    return came_to(result, "" if result == "pass" else "it did not pass" if result != "absent" else "it did not run")


def compare(expected, found, ran):
    """Outcomes of all cases, those of the manifests first."""
    return [outcome(e, found, ran) for e in expected] + unknown(expected, found)
