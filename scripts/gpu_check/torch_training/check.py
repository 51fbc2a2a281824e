# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""One call of `gpu-check torch`: its stages, and where they find tandem."""

import importlib.util
import os
import pathlib
import sys
import zipfile

from .. import machine
from ..figures import read_told
from ..staged import WRONG, Stage, Staged
from ..steps import Step
from . import report

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
CASES = "pytorch-*/test/distributed/test_data_parallel.py"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "tandem", "pytorch-source")
SECONDS = 530


class PackageError(Exception):
    """There is no package tandem to check; the text says what to do."""


def package(wheel, out):
    """The folder in which Python finds tandem: that of the wheel, which is unpacked, or that of the package which is there."""
    if wheel is None:
        found = importlib.util.find_spec("tandem")
        if found is None or not list(pathlib.Path(found.origin).parent.glob("_core*.so")):
            raise PackageError("Python finds no built package tandem: name a wheel by --wheel (scripts/wheel makes one), or a build's folder "
                               "python in PYTHONPATH")
        return pathlib.Path(found.origin).parents[1]
    folder = out / "package"
    try:
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(folder)
    except (OSError, zipfile.BadZipFile) as e:
        raise PackageError(f"{wheel} is no wheel: {e}") from e
    if not list(folder.glob(f"tandem/_core.cpython-{sys.version_info.major}{sys.version_info.minor}*.so")):
        raise PackageError(f"{wheel} is for another Python than this one, {sys.version_info.major}.{sys.version_info.minor}: run scripts/wheel by it")
    return folder


def cases():
    """PyTorch's own tests where scripts/torch-acceptance keeps them; None: they are not there."""
    return next(iter(sorted(CACHE.glob(CASES), reverse=True)), None)


def stages(folder, small, source):
    """Of tandem in `folder`. Small ones end on the host in minutes."""
    paths = [folder, ROOT / "bench" / "peers", ROOT / "scripts", *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {"PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONWARNINGS": "ignore"}
    if small:
        environment["OMP_NUM_THREADS"] = "1"

    def stage(name, seconds, shows, *arguments, **options):
        option = ["--small"] if small else []
        step = Step(name, name, [sys.executable, "-B", HERE / "programs" / arguments[0], *arguments[1:], *option], environment, read=read_told, **options)
        return Stage(name, seconds, shows, [step])

    found = "" if source else f"there is no {CACHE}/{CASES}; scripts/torch-acceptance fetches it"
    return [stage("adapter", 150, "what is here, and whether tandem has an adapter for it, else one is built", "present.py", essential=True),
            stage("cases", 75, "PyTorch's own cases of DataParallel on cuda:0x4", "cases.py", str(source), skip=lambda state: found),
            stage("exactness", 60, "modes and chunks on cuda:0x4, beside one device", "exactness.py"),
            stage("overhead", 45, "a step on small layers", "overhead.py"),
            stage("resnet50", 60, "beside plain PyTorch and nn.DataParallel", "models.py", "resnet50"),
            stage("gpt2", 75, "beside plain PyTorch and nn.DataParallel", "models.py", "gpt2"),
            stage("memory", 45, "what tandem.memory tells of a step", "memory.py")]


class TorchTraining(Staged):
    on_a_gpu = {"cases", "exactness", "overhead", "resnet50", "gpt2", "memory"}

    def report(self):
        return report.write(self)

    def stage_table(self):
        return report.stage_table(self)


def run(args, say, started):
    """The exit status of `gpu-check torch`."""
    out = args.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    try:
        folder = package(args.wheel, out)
    except PackageError as e:
        say(str(e))
        return WRONG
    subject = {"commit": machine.commit(ROOT), "package": str(args.wheel or folder), "python": sys.executable, "small": args.small}
    return TorchTraining(stages(folder, args.small, cases()), out, subject, args.seconds, say, started).run()
