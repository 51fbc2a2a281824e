#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
r"""Runs two benchmark commands alternately and reports the ratio of their step times.

Both commands print JSON with a field step_ms: {p50, p90} as their last line; a command that writes it
to a file instead has {json} where the file's name belongs. Alternation spreads the machine's moods
over both; the figure of a command is the median of its rounds' p50.

    bench/peers/compare.py --rounds 5 --budget 1.0 \
      --tandem "build/bench/step/step_bench --model mlp --devices cpu:1" \
      --peer ".venv/bin/python bench/peers/pytorch_step.py --model mlp --threads 2"
"""

import argparse
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile


def run_once(command, timeout):
    """The JSON that `command` prints or writes."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "result.json")
        words = [word.replace("{json}", str(file)) for word in shlex.split(command)]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=timeout)
        if done.returncode != 0:
            sys.exit(f"compare.py: exit status {done.returncode} of: {command}")
        text = file.read_text() if "{json}" in command else last_line(done.stdout)
        try:
            result = json.loads(text)
            float(result["step_ms"]["p50"])
        except (ValueError, KeyError, TypeError):
            sys.exit(f"compare.py: no JSON with step_ms.p50 from: {command}\ngot: {text[:200]!r}")
        return result


def last_line(text):
    """Of process 0, where a launcher has put its number before each line."""
    lines = text.strip().splitlines()
    return lines[-1].removeprefix("[0] ") if lines else ""


def spread(figures):
    return {"median": round(statistics.median(figures), 3), "min": min(figures),
            "max": max(figures), "rounds": figures}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tandem", required=True, metavar="COMMAND")
    parser.add_argument("--peer", required=True, metavar="COMMAND")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--timeout", type=float, default=600, help="seconds that one command may take")
    parser.add_argument("--budget", type=float, help="exit with 1 if the ratio is above this number")
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")

    p50 = {"tandem": [], "peer": []}
    peak = {"tandem": None, "peer": None}
    for i in range(args.rounds):
        # the order changes from round to round, so that neither always follows the other
        for name in ("tandem", "peer") if i % 2 == 0 else ("peer", "tandem"):
            result = run_once(getattr(args, name), args.timeout)
            p50[name].append(float(result["step_ms"]["p50"]))
            peak[name] = result.get("peak_mib")
        print(f"round {i + 1}: tandem {p50['tandem'][-1]:.2f} ms, peer {p50['peer'][-1]:.2f} ms, "
              f"load {os.getloadavg()[0]:.1f}", file=sys.stderr)

    ratio = statistics.median(p50["tandem"]) / statistics.median(p50["peer"])
    print(json.dumps({"tandem_ms": spread(p50["tandem"]), "peer_ms": spread(p50["peer"]),
                      "ratio": round(ratio, 3), "peak_mib": peak}))
    if args.budget is not None and ratio > args.budget:
        sys.exit(1)


if __name__ == "__main__":
    main()
