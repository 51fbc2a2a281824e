# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Times of calls in turn, so that the machine's moods fall on all alike."""

import statistics
import time

import torch


def milliseconds(call, count):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(count):
        call()
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - begin) / count


def in_turn(calls, rounds, count):
    """After each round: {name: (median, least, most)} of a call's milliseconds."""
    times = {name: [] for name in calls}
    for number in range(rounds):
        for name in list(calls) if number % 2 == 0 else reversed(calls):  # none always follows the same one
            times[name].append(milliseconds(calls[name], count))
        yield {name: (statistics.median(found), min(found), max(found)) for name, found in times.items()}


def table(figures, reference):
    """In words: each with its share of the reference's median."""
    base = figures[reference][0]
    return ", ".join(f"{name} {median:.3f} ms ({least:.3f} to {most:.3f}; {median / base:.2f})" for name, (median, least, most) in figures.items())
