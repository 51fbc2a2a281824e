# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The program, which trains, compares and explains tandem's own models without PyTorch: python -m tandem compare --help.

`run` and `memory PROGRAM.py` tell what filled PyTorch's GPUs in a step of a program, without the extension modules."""

import os
import pathlib
import sys


def main() -> None:
    """Becomes the program, with the arguments of this process; what is about PyTorch's GPUs is done here."""
    command, *arguments = sys.argv[1:] or [""]
    if command == "run" or (command == "memory" and any(argument.endswith((".py", ".pickle")) for argument in arguments)):
        from tandem.gpu_memory.run import main as run

        run(arguments)
        return
    program = pathlib.Path(__file__).parent / "bin" / "tandem"
    if not program.exists():
        sys.exit(f"tandem: {program} is missing; build it, or install the package again")
    os.execv(program, ["tandem", *sys.argv[1:]])


if __name__ == "__main__":
    main()
