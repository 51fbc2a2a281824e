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
MANIFEST = ROOT / "tests" / "libtorch" / "acceptance" / "manifest.toml"
OK, DIFFERS, WRONG_CALL, NOTHING_DONE = 0, 1, 2, 77

ABOUT = """\
Runs PyTorch's own tests of data parallelism on tandem's virtual devices, and compares each case with
tests/libtorch/acceptance/manifest.toml: a case that changes, that is missing or that the manifest does not know is a failure.

The source of PyTorch's tests is no part of tandem. It is fetched from Debian by apt-get (28 MB in all), with lists of its own in a
temporary folder, so the machine's stay as they are and root is not needed. Two files of it are kept in
~/.cache/tandem/pytorch-source ($XDG_CACHE_HOME), and a second run fetches nothing.

test/cpp/api/parallel.cpp is compiled over tandem, and each case is run. Of test/distributed/test_data_parallel.py the cases are
listed; the manifest names the tests of tandem that have the same meaning in C++, and those are run. PyTorch has to be there:
scripts/setup --torch."""

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
    parser.add_argument("--jobs", type=count, default=os.cpu_count(), metavar="N",
                        help="files that are compiled at once (default: one for each core)")
    parser.add_argument("--timeout", type=count, default=3600, metavar="SECONDS",
                        help="for the build; a case has 120 s, and what is fetched 300 s (default: 3600)")
    parser.add_argument("--json", action="store_true", help="print all outcomes as JSON")
    return parser.parse_args(arguments)


def say(text):
    print(f"torch-acceptance: {text}", file=sys.stderr, flush=True)


def run_all(expected, folder):
    """{test: result}: PyTorch's cases one by one, so that one that crashes is alone; ours together."""
    ran = {}
    for e in expected:
        if e.file.endswith(".py"):
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


def show(version, outcomes, as_json):
    counts = {r: sum(o.result == r for o in outcomes) for r in ("pass", "skip", "fail", "absent")}
    if as_json:
        print(json.dumps({"pytorch": version, "counts": counts, "cases": [dataclasses.asdict(o) for o in outcomes]}, indent=1))
        return
    for o in outcomes:
        note = o.problem or o.reason or ", ".join(o.ours)
        print(f"{'DIFFERS ' if o.problem else ''}{o.result:6} {o.file}: {o.case}{' (' + note + ')' if note else ''}")
    print(f"PyTorch {version}: {len(outcomes)} cases, " + ", ".join(f"{n} {r}" for r, n in counts.items() if n))


def main(arguments=None):
    args = parse(arguments)
    try:
        version, expected = manifest.read(MANIFEST)
        files = list(dict.fromkeys(e.file for e in expected))
        folder = source.provide(version, files, source.cache_folder(), args.mirror, args.source, 300)
        found = {file: cases.of_file(folder / file) for file in files}
        say(f"PyTorch {version}: {sum(map(len, found.values()))} cases; building in {args.build}")
        programs.build(ROOT, args.build.resolve(), folder / next(f for f in files if f.endswith(".cpp")), args.jobs, args.timeout)
        outcomes = manifest.compare(expected, found, run_all(expected, args.build.resolve()))
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
