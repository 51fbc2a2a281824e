#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Writes four files of the form and size of MNIST's, with the digits of examples/data in place of its images.

usage: make_mnist.py FOLDER

An image of 8 x 8 pixels becomes one of 28 x 28: each pixel three times as wide and high, and a margin of two. The digits are
repeated until there are as many as MNIST has, because PyTorch reads files of that size alone. They take 55 MB.
"""

import pathlib
import struct
import sys

DIGITS = pathlib.Path(__file__).resolve().parent.parent / "data" / "digits"
ROWS = {"train": 60000, "t10k": 10000}


def enlarged(image):
    margin = bytes(2 * 28)
    rows = [bytes(2) + bytes(p for pixel in image[8 * y:8 * y + 8] for p in (pixel,) * 3) + bytes(2) for y in range(8)]
    return margin + b"".join(row * 3 for row in rows) + margin


def repeated(items, count):
    return b"".join(items[i % len(items)] for i in range(count))


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in ROWS.items():
        images = (DIGITS / f"{part}-images-idx3-ubyte").read_bytes()[16:]
        labels = (DIGITS / f"{part}-labels-idx1-ubyte").read_bytes()[8:]
        large = [enlarged(images[64 * i:64 * i + 64]) for i in range(len(labels))]
        (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 2051, count, 28, 28) + repeated(large, count))
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(
            struct.pack(">2I", 2049, count) + repeated([bytes([label]) for label in labels], count))


if __name__ == "__main__":
    main(*sys.argv[1:])
