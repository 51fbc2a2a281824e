# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""One call of `gpu-check brief`."""

from ..staged import WRONG, Staged
from . import report
from .plan import plan_of
from .stages import stages


class Brief(Staged):
    on_a_gpu = {"tests", "gpt2", "products", "models", "logical"}

    def __init__(self, plan, seconds, say, started):
        self.plan = plan
        (plan.out / "tests").mkdir(parents=True, exist_ok=True)
        super().__init__(stages(plan), plan.out, plan.pack, seconds, say, started)

    def report(self):
        return report.write(self)

    def stage_table(self):
        return report.stage_table(self, self.took)


def run(args, say, started):
    """The exit status of `gpu-check brief`."""
    try:
        plan = plan_of(args.pack.resolve(), args.out.resolve())
    except (OSError, ValueError, KeyError) as e:
        say(f"{args.pack} is no pack: {e}; unpack what 'gpu-check pack' has written, and name its folder")
        return WRONG
    return Brief(plan, args.seconds, say, started).run()
