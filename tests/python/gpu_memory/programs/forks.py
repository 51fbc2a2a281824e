# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Trains in a process that it forks, and uses no GPU itself."""

import multiprocessing

import models
import torch


def train():
    step = models.words(torch.optim.SGD, False)
    for number in range(4):
        step()
        print("child", number + 1, flush=True)


if __name__ == "__main__":
    process = multiprocessing.get_context("fork").Process(target=train)
    process.start()
    process.join(60)
    print("child ended with", process.exitcode)
