#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a notebook from its first cell to its last, and prints the seconds.

usage: run_notebook.py NOTEBOOK

It fails with the error of a cell, after a minute, for a report that is larger than 200 KiB, for a notebook that was committed
with outputs or execution counts, and for one whose first code does not install tandem where it is missing. The kernel runs in a
temporary folder, which also gets what Jupyter and IPython write. The notebook's file stays as it is.
"""

import os
import re
import sys
import tempfile
import time

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError
from traitlets.config import Config

DEADLINE_S = 60
MOST_BYTES = 200 * 1024  # of a report
FOLDERS = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def left_behind(notebook):
    """The cells that were committed after they had run."""
    return [cell.id for cell in code_cells(notebook) if cell.outputs or cell.execution_count is not None]


def installs(notebook):
    """Whether the first code is what a reader needs who has Jupyter and nothing of tandem; no index is asked for a name that is free there."""
    return "%pip install --quiet --no-index --find-links ../../dist tandem-dp\n" in code_cells(notebook)[0].source


def too_large(notebook):
    """The cells that show a report of more than MOST_BYTES."""
    return [
        cell.id
        for cell in code_cells(notebook)
        for output in cell.outputs
        if len(output.get("data", {}).get("text/html", "").encode()) > MOST_BYTES
    ]


def execute(notebook, folder):
    """What went wrong; None: nothing."""
    for name in FOLDERS:
        os.environ[name] = os.path.join(folder, name.lower())
    work = os.path.join(folder, "work")
    os.mkdir(work)
    end = time.monotonic() + DEADLINE_S
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        resources={"metadata": {"path": work}},
        config=Config({"KernelManager": {"transport": "ipc", "ip": os.path.join(folder, "k")}}),  # sockets k-1 to k-5
        startup_timeout=DEADLINE_S,
        timeout_func=lambda cell: max(end - time.monotonic(), 0.1),
    )
    try:
        client.execute()
    except CellExecutionError as error:
        return COLOUR.sub("", str(error))
    except CellTimeoutError:
        cell = next(cell for cell in code_cells(notebook) if "shell.execute_reply" not in cell.metadata.get("execution", {}))
        return f"after {DEADLINE_S} s cell '{cell.id}' was still running"
    large = too_large(notebook)
    return f"these cells show a report of more than {MOST_BYTES} bytes: {', '.join(large)}" if large else None


def main(path):
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    if ran := left_behind(notebook):
        return f"{path}: clear all outputs before you commit it; these cells have some, or a count: {', '.join(ran)}"
    if not installs(notebook):
        return f"{path}: the first cell of code does not install tandem as the others do; copy it from another notebook"
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tandem-notebook-", ignore_cleanup_errors=True) as folder:
        failure = execute(notebook, folder)
    for cell in code_cells(notebook):
        for output in cell.outputs:
            print(output.get("text", ""), end="")
    print(f"{os.path.basename(path)}: {time.monotonic() - begin:.1f} s")
    return f"{path}: {failure}" if failure else None


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: run_notebook.py NOTEBOOK")
    sys.exit(main(sys.argv[1]))
