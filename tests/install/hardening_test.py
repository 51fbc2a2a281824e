#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that a program was built with TANDEM_HARDENING, which makes faults in memory harder to exploit.

usage: hardening_test.py READELF PROGRAM
"""

import subprocess
import sys


def main():
    readelf, program = sys.argv[1:]
    listing = subprocess.run([readelf, "-W", "-h", "-l", "-d", "-n", "--dyn-syms", program],
                             capture_output=True, text=True, check=True).stdout
    wanted = {
        "a position-independent executable": "DYN (Position-Independent Executable",
        "tables that are read-only after start (-z relro)": "GNU_RELRO",
        "all names bound at start (-z now)": "BIND_NOW",
        "canaries on the stack (-fstack-protector-strong)": "__stack_chk_fail",
        "checked calls of the C library (_FORTIFY_SOURCE)": "_chk@GLIBC",
    }
    missing = [what for what, sign in wanted.items() if sign not in listing]
    stack = next((line for line in listing.splitlines() if "GNU_STACK" in line), "")
    if "RWE" in stack or not stack:
        missing.append("a stack that is not executable")
    if missing:
        sys.exit(f"{program} lacks " + ", ".join(missing))
    print(f"{program} has all {len(wanted) + 1}")


if __name__ == "__main__":
    main()
