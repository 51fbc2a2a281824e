#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the oracle data in this folder: what PyTorch computes for every op and layer.

Needs Python with PyTorch (made with 2.15.0) and numpy.

    make_oracles.py            writes all files
    make_oracles.py --check    compares with the files that are there (1e-12) and writes nothing
"""

import argparse
import json
import pathlib
import struct
import sys

import numpy as np
import torch

from cases import (activation, attention, autocast, clip, conv, elementwise, index, layers, linalg,
                   loss, lr, models, norm, optim, pool, reduce, transformer)
from recorder import Family

FOLDER = pathlib.Path(__file__).resolve().parent
FAMILIES = {"elementwise": elementwise, "reduce": reduce, "linalg": linalg, "conv": conv,
            "pool": pool, "norm": norm, "index": index, "loss": loss, "activation": activation,
            "attention": attention, "transformer": transformer, "layers": layers, "models": models,
            "autocast": autocast,
            "optim": optim, "clip": clip}
NUMPY = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "u1", "BOOL": "?"}


def parse(content):
    """Metadata and arrays of a safetensors file."""
    (size,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8:8 + size])
    metadata = header.pop("__metadata__")
    arrays = {}
    for key, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        array = np.frombuffer(content[begin:end], NUMPY[entry["dtype"]])
        arrays[key] = array.reshape(entry["shape"])
    return metadata, arrays


def difference(content, path):
    """None, or what differs between `content` and the file; libraries differ in the last bits.

    Under autocast a last bit is one of bf16, and so a large one.
    """
    if not path.exists():
        return "is missing"
    metadata, arrays = parse(content)
    old_metadata, old_arrays = parse(path.read_bytes())
    if metadata != old_metadata or arrays.keys() != old_arrays.keys():
        return "has other cases"
    for key, array in arrays.items():
        old = old_arrays[key]
        tolerance = 1e-6 if array.dtype == np.float32 else 1e-12
        if path.stem == "autocast":
            tolerance = 2 ** -5
        if old.shape != array.shape or old.dtype != array.dtype:
            return f"{key}: {old.dtype} {old.shape}, now {array.dtype} {array.shape}"
        if not np.allclose(old, array, rtol=tolerance, atol=tolerance, equal_nan=True):
            return f"{key}: the values differ"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 if they differ")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)

    for name, module in FAMILIES.items():
        family = Family(name)
        module.build(family)
        content = family.serialized()
        path = FOLDER / f"{name}.safetensors"
        if args.check:
            problem = difference(content, path)
            if problem:
                sys.exit(f"make_oracles.py: {path.name}: {problem}")
        else:
            path.write_bytes(content)
            print(f"{path.name}: {len(family.metadata)} cases, {len(content)} bytes")

    path = FOLDER / "lr.json"
    schedules = lr.build()
    if not args.check:
        path.write_text(json.dumps(schedules, indent=1) + "\n")
        print(f"{path.name}: {len(schedules)} cases")
    elif json.loads(path.read_text()) != json.loads(json.dumps(schedules)):
        sys.exit(f"make_oracles.py: {path.name}: the values differ")


if __name__ == "__main__":
    main()
