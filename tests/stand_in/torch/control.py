# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What a test on the stand-in asks of it: reports, counts of calls, failures."""

import ctypes
import unittest

import torch

LIBRARY = ctypes.CDLL(None)  # the stand-in is among the first that the process has loaded
LIBRARY.stand_in_report.restype = ctypes.c_char_p
LIBRARY.stand_in_all_calls.restype = ctypes.c_char_p


def reports():
    """Those since the last question, once all GPUs have done their work."""
    for gpu in range(torch.cuda.device_count()):
        torch.cuda.synchronize(gpu)
    found = [LIBRARY.stand_in_report(i).decode() for i in range(LIBRARY.stand_in_reports())]
    LIBRARY.stand_in_forget_reports()
    return found


def calls():
    """{name: how often it was called}"""
    lines = LIBRARY.stand_in_all_calls().decode().splitlines()
    return {name: int(n) for name, n in (line.split() for line in lines)}


def fail(failures):
    assert LIBRARY.stand_in_fail(failures.encode()), failures


def forget_failures():
    LIBRARY.stand_in_forget_failures()


class StandInTest(unittest.TestCase):
    """A test is to leave no report that it has not asked for."""

    def setUp(self):
        reports()

    def tearDown(self):
        self.assertEqual(reports(), [])

    def assert_close(self, x, y, tolerance=1e-5):
        self.assertLessEqual((x.detach().cpu().double() - y.detach().cpu().double()).abs().max().item(), tolerance)
