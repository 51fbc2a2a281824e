# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of the check, in their order; each file makes the steps of one."""

from . import bench, build, demo, device, roofline, sanitizer, tests

STEPS = {"build": build.steps, "device": device.steps, "tests": tests.steps, "roofline": roofline.steps,
         "sanitizer": sanitizer.steps, "demo": demo.steps, "bench": bench.steps}
PARTS = list(STEPS)


def steps_of(part, plan):
    return STEPS[part](plan)
