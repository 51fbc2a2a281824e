# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What every step needs to know."""

import os
import pathlib
from dataclasses import dataclass

STAND_IN_GPUS = 2  # so that the steps for several GPUs are tried too
NBYTES_OF_A_JOB = 2 * 2**30  # what nvcc takes for the largest files, about


@dataclass
class Plan:
    root: pathlib.Path
    out: pathlib.Path
    architectures: list  # as CMake names them: "90"
    generator: str
    compiler: str
    stand_in: bool
    rounds: int
    quick: bool
    gpus: list  # what driver.py says of each

    @property
    def tree(self):
        return self.out / "tree"

    def test_program(self, name):
        """Of a folder, or of a room of one: parallel_life."""
        return self.tree / "tests" / name.split("_")[0] / f"{name}_test"

    @property
    def program(self):
        return self.tree / "tandem"

    def environment(self):
        return {"TANDEM_STAND_IN_GPUS": str(STAND_IN_GPUS)} if self.stand_in else {}

    def all_gpus(self):
        return ",".join(f"cuda:{i}" for i in range(len(self.gpus)))

    def needs_several(self, _):
        """The reason not to run a step for several GPUs."""
        return "" if len(self.gpus) > 1 else "one GPU only"

    def needs_nccl(self, state):
        """The reason not to run a step for NCCL."""
        nccl = state.figures("configure").get("NCCL", "the part build is not done")
        return self.needs_several(state) or ("" if nccl[0].isdigit() else f"built without NCCL: {nccl}")


def jobs():
    """Compilers at the same time: one for each core that this process may use, if the memory is enough."""
    cores = len(os.sched_getaffinity(0))
    nbytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(cores, nbytes // NBYTES_OF_A_JOB))
