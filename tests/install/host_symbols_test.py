#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that a library built without CUDA needs no symbol of CUDA.

usage: host_symbols_test.py NM LIBRARY
"""

import re
import subprocess
import sys

CUDA = re.compile(r"^_*(cuda|cublas|cudnn|nccl|cu[A-Z])")


def undefined_symbols(nm, library):
    listing = subprocess.run([nm, "--undefined-only", "--format=posix", library],
                             capture_output=True, text=True, check=True).stdout
    return {words[0] for words in map(str.split, listing.splitlines()) if len(words) > 1}


def main():
    nm, library = sys.argv[1:]
    symbols = undefined_symbols(nm, library)
    if "malloc" not in symbols and "_Znwm" not in symbols:
        sys.exit(f"{nm} finds no operator new among the symbols of {library}: there is nothing to check")
    found = sorted(filter(CUDA.match, symbols))
    if found:
        sys.exit(f"the build is without CUDA, but {library} needs: {', '.join(found)}")
    print(f"{len(symbols)} undefined symbols, none of CUDA")


if __name__ == "__main__":
    main()
