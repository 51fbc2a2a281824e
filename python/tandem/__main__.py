# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The program, which trains, compares and explains tandem's own models without PyTorch: python -m tandem compare --help."""

import os
import pathlib
import sys


def main() -> None:
    """Becomes the program, with the arguments of this process."""
    program = pathlib.Path(__file__).parent / "bin" / "tandem"
    if not program.exists():
        sys.exit(f"tandem: {program} is missing; build it, or install the package again")
    os.execv(program, ["tandem", *sys.argv[1:]])


if __name__ == "__main__":
    main()
