# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Reads figures from what a step printed or wrote."""

import json


def read_json(log):
    """The last JSON object in the log that begins a line."""
    return json.JSONDecoder().raw_decode(log, ("\n" + log).rindex("\n{"))[0]


def read_file(file):
    return lambda log: json.loads(file.read_text())


def read_benchmarks(file):
    """{name: figures} of a file that Google Benchmark wrote."""
    keys = ("real_time", "time_unit", "FLOP/s", "bytes_per_second", "label")

    def read(_):
        return {b["name"]: {k: b[k] for k in keys if k in b} for b in json.loads(file.read_text())["benchmarks"]}
    return read


def objects(log):
    """The lines that are JSON objects; a program that was ended may have been in the middle of one."""
    for line in log.splitlines():
        try:
            if line.startswith("{"):
                yield json.loads(line)
        except ValueError:
            continue


def read_told(log):
    """What a program has told line by line."""
    return {"told": list(objects(log))}


def read_models(log):
    """What bench/peers/in_turn.py has said so far: its last line of each model counts."""
    found = {"models": {}, "failed": []}
    for item in objects(log):
        if "pytorch" in item:
            found |= {"PyTorch": item["pytorch"], "why": item.get("error", "")}
        elif "error" in item:
            found["failed"].append(f"{item['model']}: {item['error']}")
        elif "model" in item:
            found["models"][item["model"]] = item
    return found
