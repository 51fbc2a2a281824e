# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Part device: whether tandem sees the GPUs, before anything else is tried on them."""

from ..figures import read_json
from ..steps import Step


def devices(plan, name, names, **options):
    return Step(name, "device", [plan.program, "devices", "--devices", names, "--json", "-"], plan.environment(),
                timeout=120, read=read_json, **options)


def steps(plan):
    return [devices(plan, "device/cuda_0", "cuda:0", essential=True),
            devices(plan, "device/all_gpus", plan.all_gpus(), skip=plan.needs_several)]
