# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Reads sources one at a time, so that no batch hides an include that is missing.

usage: read_alone.py FOLDER < SOURCES

FOLDER is a build folder configured without batches; each line of SOURCES is a path from the root of the tree. Sources
that the build does not have are passed over. Ends with 1 if one of them cannot be read alone.
"""

import json
import os
import pathlib
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


def read(entry: dict[str, str]) -> str:
    """What the compiler says of a source; empty if it reads it."""
    command = shlex.split(entry["command"])
    if pathlib.Path(command[0]).name == "ccache":
        del command[0]
    at = command.index("-o")
    del command[at : at + 2]
    result = subprocess.run([*command, "-fsyntax-only"], cwd=entry["directory"], capture_output=True, text=True)
    return result.stderr if result.returncode else ""


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    wanted = {str(root / line.strip()) for line in sys.stdin}
    commands = json.loads((pathlib.Path(sys.argv[1]) / "compile_commands.json").read_text())
    entries = [e for e in commands if e["file"] in wanted]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = [text for text in pool.map(read, entries) if text]
    print(*errors, sep="\n", end="", file=sys.stderr)
    print(f"ci: {len(entries)} sources were read alone, {len(errors)} cannot be")
    return 1 if errors else 0


sys.exit(main())
