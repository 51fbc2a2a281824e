# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Streams of the caller's on PyTorch's GPUs. On the stand-in a missing wait fails the test."""

import threading
import unittest

import torch
from torch import nn

import tandem


class Waits(nn.Module):
    """Its forward on the first GPU waits until it is let go on."""

    def __init__(self):
        super().__init__()
        self.layer, self.has_come, self.goes_on = nn.Linear(4, 2), threading.Event(), threading.Event()

    def forward(self, x):
        if x.get_device() == 0:
            self.has_come.set()
            self.goes_on.wait(30)
        return self.layer(x)


class CallersTest(unittest.TestCase):
    def test_a_call_beside_one_on_another_stream_is_refused_and_one_on_the_same_is_not(self):
        waits = Waits().cuda()
        first, second = tandem.DataParallel(waits), tandem.DataParallel(nn.Linear(4, 2).cuda())
        x, other = torch.ones(8, 4, device="cuda"), torch.cuda.Stream()
        other.wait_stream(torch.cuda.current_stream())
        found = []
        callers = [threading.Thread(target=lambda: found.append(first(x)))]
        callers[0].start()
        waits.has_come.wait(30)
        with torch.cuda.stream(other), self.assertRaisesRegex(
            tandem.InvalidArgument, r"current stream on cuda:0 is .*, but another call is under way there on .*; call after the other has ended"
        ):
            second(x)
        callers.append(threading.Thread(target=lambda: found.append(second(x))))
        callers[1].start()
        waits.goes_on.set()
        for caller in callers:
            caller.join(30)
        self.assertEqual(len(found), 2)
        other.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(other):
            torch.testing.assert_close(second(x), second.module(x))
        torch.cuda.current_stream().wait_stream(other)
        torch.testing.assert_close(second(x), second.module(x))


if __name__ == "__main__":
    unittest.main()
