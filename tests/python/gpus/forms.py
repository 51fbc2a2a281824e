# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The forms in which a wrapper trains: "call" is its output and backward, "step" is its step with PyTorch's optimizer, and "shared" with one
whose update the devices share."""

import tandem

FORMS = ("call", "step", "shared")


def make_optimizer(form, wrapper, kind, **options):
    return tandem.Optimizer(wrapper, kind, **options) if form == "shared" else kind(wrapper.module.parameters(), **options)


def train(form, wrapper, optimizer, batches, loss_of):
    for batch in batches:
        if form == "call":
            optimizer.zero_grad()
            loss_of(wrapper, batch).backward()
            optimizer.step()
        else:
            wrapper.step(batch, loss_of, optimizer)
