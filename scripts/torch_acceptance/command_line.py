# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/torch-acceptance"""

import argparse
import dataclasses
import json
import os
import pathlib
import sys

from . import cases, manifest, programs, source

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANIFESTS = {"C++": ROOT / "tests" / "libtorch" / "acceptance" / "manifest.toml",
             "Python": ROOT / "tests" / "python" / "acceptance" / "manifest.toml"}
FILES = {"C++": "test/cpp/api/parallel.cpp", "Python": "test/distributed/test_data_parallel.py"}  # whose cases are run
OK, DIFFERS, WRONG_CALL, NOTHING_DONE = 0, 1, 2, 77

ABOUT = """\
Runs PyTorch's own tests of data parallelism on tandem's virtual devices, and compares each case with a manifest, which
tests/libtorch/acceptance has for programs in C++ and tests/python/acceptance for those in Python: a case that changes, that is
missing or that the manifest does not know is a failure.

The source of PyTorch's tests is no part of tandem. It is fetched from Debian by apt-get (28 MB in all), with lists of its own in a
temporary folder, so the machine's stay as they are and root is not needed. Two files of it are kept in
~/.cache/tandem/pytorch-source ($XDG_CACHE_HOME), and a second run fetches nothing.

C++: test/cpp/api/parallel.cpp is compiled over tandem, and each case is run. Of test/distributed/test_data_parallel.py the cases are
listed; the manifest names the tests of tandem that have the same meaning in C++, and those are run.
Python: test/distributed/test_data_parallel.py is run on the package tandem. Its text is mapped in a temporary folder: GPUs to virtual
devices, and PyTorch's functions to tandem's.
PyTorch has to be there: scripts/setup --torch --python."""

END = """\
exit status: 0 every case is as in the manifest; 1 a case is not, or something does not compile; 2 wrong call; 77 PyTorch's source
cannot be fetched, and nothing was done"""


def count(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}': expected a number above 0")
    return int(text)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="torch-acceptance", description=ABOUT, epilog=END,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, metavar="FILE", help="a tarball of PyTorch's source; nothing is fetched")
    parser.add_argument("--mirror", metavar="URL", help="where Debian's packages are (default: where this machine has its own from)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "torch-acceptance", metavar="FOLDER",
                        help="folder of the build; that of an earlier one is faster (default: build/torch-acceptance)")
    parser.add_argument("--language", choices=list(MANIFESTS), help="the programs of one language alone (default: of both)")
    parser.add_argument("--jobs", type=count, default=os.cpu_count(), metavar="N",
                        help="files that are compiled at once (default: one for each core)")
    parser.add_argument("--timeout", type=count, default=3600, metavar="SECONDS",
                        help="for the build; a case in C++ has 120 s, all in Python 600 s, and what is fetched 300 s (default: 3600)")
    parser.add_argument("--json", action="store_true", help="print all outcomes as JSON")
    return parser.parse_args(arguments)


def say(text):
    print(f"torch-acceptance: {text}", file=sys.stderr, flush=True)


def read_manifests(languages):
    """(PyTorch's version, {language: [Expected]})"""
    read = {language: manifest.read(MANIFESTS[language], language) for language in languages}
    versions = {version for version, _ in read.values()}
    if len(versions) > 1:
        raise manifest.ManifestError(f"the manifests are about PyTorch {' and '.join(sorted(versions))}; expected one version")
    return versions.pop(), {language: expected for language, (_, expected) in read.items()}


def run_cpp(expected, folder):
    """{test: result}: PyTorch's cases one by one, so that one that crashes is alone; ours together."""
    ran = {}
    for e in expected:
        if not manifest.runs(e.language, e.file):
            continue
        found, text = programs.run(folder / programs.PLACES["theirs"], [e.case], 120)
        ran |= found
        if found.get(e.case) != "pass":
            say(f"{e.case}:\n{text}")
    ours = sorted({name for e in expected for name in e.ours})
    found, text = programs.run(folder / programs.PLACES["ours"], ours, 600)
    if any(found.get(name) != "pass" for name in ours):
        say(f"tests of tandem:\n{text}")
    return ran | found


def run_python(expected, folder, source):
    """{case: result}"""
    found, text = programs.run_python(folder, source, [e.case for e in expected], 600)
    if any(found[e.case] != "pass" for e in expected):
        say(f"cases in Python:\n{text}")
    return found


def show(version, outcomes, as_json):
    counts = {r: sum(o.result == r for o in outcomes) for r in ("pass", "skip", "fail", "absent")}
    if as_json:
        print(json.dumps({"pytorch": version, "counts": counts, "cases": [dataclasses.asdict(o) for o in outcomes]}, indent=1))
        return
    for o in outcomes:
        note = o.problem or o.reason or ", ".join(o.ours)
        print(f"{'DIFFERS ' if o.problem else ''}{o.result:6} {o.language:6} {o.file}: {o.case}{' (' + note + ')' if note else ''}")
    print(f"PyTorch {version}: {len(outcomes)} cases, " + ", ".join(f"{n} {r}" for r, n in counts.items() if n))


def main(arguments=None):
    args = parse(arguments)
    try:
        version, expected = read_manifests([args.language] if args.language else list(MANIFESTS))
        # Both files, so that those that are kept do not depend on the language.
        folder = source.provide(version, list(FILES.values()), source.cache_folder(), args.mirror, args.source, 300)
        build = args.build.resolve()
        say(f"PyTorch {version}: {sum(map(len, expected.values()))} cases; building in {args.build}")
        programs.build(ROOT, build, {language: folder / FILES[language] for language in expected}, args.jobs, args.timeout)
        ran = run_cpp(expected["C++"], build) if "C++" in expected else {}
        if "Python" in expected:
            ran |= run_python(expected["Python"], build, folder / FILES["Python"])
        found = {file: cases.of_file(folder / file) for file in FILES.values()}
        outcomes = manifest.compare([e for of_language in expected.values() for e in of_language], found, ran)
    except source.Unavailable as e:
        say(f"PyTorch's source cannot be fetched, so nothing is done: {e}")
        return NOTHING_DONE
    except (manifest.ManifestError, programs.BuildError, source.Unusable) as e:
        say(str(e))
        return DIFFERS
    show(version, outcomes, args.json)
    differing = [o for o in outcomes if o.problem]
    for o in differing:
        say(f"{o.case}: {o.problem}")
    return DIFFERS if differing else OK
