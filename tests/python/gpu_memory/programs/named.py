# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of tests/stand_in/torch, plain and in torch.nn.DataParallel, and measures a step of each; prints a line of JSON for each.

usage: named.py FOLDER [NAME...]    # tests/stand_in/torch
"""

import gc
import importlib
import inspect
import json
import sys

import torch
from tandem.gpu_memory.step_finder import StepFinder
from torch import nn

sys.path.insert(0, sys.argv[1])
STEP = 2


def measured(run):
    """The report of a step of run(); of what came before its end, if there are fewer."""
    torch.manual_seed(3)
    finder = StepFinder(STEP, lambda: None)
    try:
        run()
    finally:
        finder.stop()
    return finder.report()


def packages_are_there():
    """torchvision is for one PyTorch, and transformers asks for it."""
    try:
        importlib.import_module("torchvision")
    except (ImportError, RuntimeError) as error:
        print(json.dumps({"name": "packages", "absent": str(error)}))
        return False
    return True


def cases():
    """(name, whether it is a step on several GPUs, what runs it)."""
    for kind in ("plain", "packages") if packages_are_there() else ("plain",):
        module = importlib.import_module(f"programs.{kind}")
        for name, program in inspect.getmembers(module, inspect.isfunction):
            if list(inspect.signature(program).parameters) == ["device", "wrap"]:
                yield name, False, lambda program=program: program("cuda", lambda model: model)
                if kind == "plain" and "wrap(" in inspect.getsource(program):
                    yield name, True, lambda program=program: program("cuda", nn.DataParallel)
        if kind == "packages":
            yield "bert_trainer", True, lambda: module.train_bert("cuda", 4)


for name, several, run in cases():
    if sys.argv[2:] and name not in sys.argv[2:]:
        continue
    try:
        report = measured(run)
    except ImportError as error:
        print(json.dumps({"name": name, "absent": str(error)}))
        continue
    print(json.dumps({"name": name, "several": several, "report": report and report.as_dict()}), flush=True)
    del report
    gc.collect()
    torch.cuda.empty_cache()
