#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a directory that `tandem train --tensorboard` wrote by TensorBoard's own reader, and prints
what it finds: whether the files are what TensorBoard expects.

    pip install tensorboard
    .venv/bin/python bench/peers/read_tensorboard.py runs/digits
"""

import argparse

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("directory")
    args = parser.parse_args()
    events = EventAccumulator(args.directory)
    events.Reload()
    tags = events.Tags()["scalars"]
    if not tags:
        raise SystemExit(f"read_tensorboard.py: no scalars in {args.directory}")
    for tag in tags:
        values = events.Scalars(tag)
        print(f"{tag:<24} {len(values):>6} values, the last at step {values[-1].step}: {values[-1].value:.6g}")


if __name__ == "__main__":
    main()
