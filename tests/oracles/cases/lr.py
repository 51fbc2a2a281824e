# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Learning-rate schedules: the rate that each step uses, the first included."""

import torch
from torch.optim import lr_scheduler

STEPS = 24
BASE = 0.1


def rates(make):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=BASE)
    schedule = make(optimizer)
    values = []
    for _ in range(STEPS):
        values.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return values


def build():
    cases = {}

    def one(name, op, **parameters):
        values = rates(lambda optimizer: getattr(lr_scheduler, op)(optimizer, **parameters))
        cases[name] = {"op": op, "base_lr": BASE, **parameters, "lr": values}

    def after_warm_up(name, warm_up, op, **parameters):
        def make(optimizer):
            first = lr_scheduler.LinearLR(optimizer, **warm_up)
            second = getattr(lr_scheduler, op)(optimizer, **parameters)
            return lr_scheduler.SequentialLR(optimizer, [first, second], [warm_up["total_iters"]])

        cases[name] = {"op": "SequentialLR", "base_lr": BASE,
                       "first": {"op": "LinearLR", **warm_up}, "second": {"op": op, **parameters},
                       "milestone": warm_up["total_iters"], "lr": rates(make)}

    one("step", "StepLR", step_size=5, gamma=0.1)
    one("step_gamma", "StepLR", step_size=7, gamma=0.5)
    one("cosine", "CosineAnnealingLR", T_max=STEPS, eta_min=0.0)
    one("cosine_eta_min", "CosineAnnealingLR", T_max=20, eta_min=0.01)  # rises again after T_max
    one("linear_warm_up", "LinearLR", start_factor=0.1, end_factor=1.0, total_iters=8)
    one("linear_warm_up_third", "LinearLR", start_factor=1.0 / 3, end_factor=1.0, total_iters=5)
    warm_up = {"start_factor": 0.2, "end_factor": 1.0, "total_iters": 4}
    after_warm_up("warm_up_then_cosine", warm_up, "CosineAnnealingLR", T_max=20, eta_min=0.0)
    after_warm_up("warm_up_then_step", warm_up, "StepLR", step_size=6, gamma=0.5)
    return cases
