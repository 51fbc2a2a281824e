# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The program, which trains, compares and explains tandem's own models without PyTorch: python -m tandem compare --help.

`run` and `memory PROGRAM.py` tell what filled PyTorch's GPUs in a step of a program, and `stand_in` plays GPUs: these need no extension
modules. `memory SNAPSHOT.pickle` and `explain TRACE.json` need no PyTorch either. `adapter` builds the module for another PyTorch."""

import os
import pathlib
import sys

_HELP = ("-h", "--help", "--help-all")
_FILES = (".py", ".pickle")
_TRACES = (".json", ".json.gz")


def main() -> None:
    """Becomes the program, with the arguments of this process; what is about programs of PyTorch is done here."""
    command, *arguments = sys.argv[1:] or [""]
    if command == "stand_in":
        from tandem.stand_in.__main__ import main as on_stand_in

        sys.exit(on_stand_in(arguments))
    if command == "run" or (command == "memory" and _names_program(arguments)):
        from tandem.runner.command import main as run

        run(command, arguments)
        return
    if command == "explain" and arguments and arguments[0].endswith(_TRACES):
        from tandem.runner.command import explain

        explain(arguments)
        return
    if command == "adapter":
        from tandem._build_adapter import main as build_adapter

        build_adapter(arguments)
        return
    program = pathlib.Path(__file__).parent / "bin" / "tandem"
    if command == "memory" and arguments and arguments[0] in _HELP:
        from tandem.runner.command import tell_help

        tell_help(command)
        if not program.exists():
            return
        print("\nA model of tandem's own, on tandem's devices: python -m tandem memory --model mlp --devices cpu:4\n", flush=True)
    if not program.exists():
        sys.exit(f"tandem: {program} is missing; build it, or install the package again")
    if command == "doctor":  # it asks the first python3 of the path, whichever environment is active
        os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
    os.execv(program, ["tandem", *sys.argv[1:]])


def _names_program(arguments: list[str]) -> bool:
    """Whether they name a program of PyTorch, or a file that PyTorch wrote."""
    return any(argument == "-m" or argument.endswith(_FILES) for argument in arguments)


if __name__ == "__main__":
    main()
