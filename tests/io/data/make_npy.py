# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the arrays that tests/io/npy_test.cpp reads: made by NumPy's own numpy.save.

    python3 make_npy.py      # in this directory; needs NumPy
"""

import os

import numpy as np

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "npy")


def write(name, array, version=(1, 0)):
    with open(os.path.join(HERE, name + ".npy"), "wb") as file:
        np.lib.format.write_array(file, array, version=version)


def main():
    os.makedirs(HERE, exist_ok=True)
    cube = np.arange(24).reshape(2, 3, 4)
    for name in ("f2", "f4", "f8", "i4", "i8", "u1"):
        write(name, cube.astype("<" + name))
    write("b1", cube % 3 == 0)
    write("fortran", np.asfortranarray(cube.astype("<f4")))
    write("fortran_v2", np.asfortranarray(cube.astype("<i8")), version=(2, 0))
    write("big_endian", cube.astype(">f8"))
    write("scalar", np.array(2.5))
    write("empty", np.zeros((3, 0, 2), "<i4"))
    write("vector", np.arange(5, dtype="<i4"))
    write("complex", np.ones(3, "<c8"))
    write("structure", np.zeros(2, [("a", "<f4"), ("b", "<i4")]))


if __name__ == "__main__":
    main()
