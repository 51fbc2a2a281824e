# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A call while a CUDA graph is captured. The stand-in captures none, so a small library before it tells the child that one is."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

LIBRARY = """
static int capturing;
void say_capturing(int now) { capturing = now; }
int cudaStreamIsCapturing(void *stream, int *status) { return *status = capturing, 0; }
"""
PROGRAM = """
import ctypes
import torch
import tandem
say_capturing = ctypes.CDLL(None).say_capturing
wrapper = tandem.DataParallel(torch.nn.Linear(4, 4).cuda())
x = torch.ones(8, 4, device="cuda")
wrapper(x)
say_capturing(1)
try:
    wrapper(x)
except tandem.InvalidArgument as error:
    print(error)
say_capturing(0)
print(tuple(wrapper(x).shape))
"""


class CaptureTest(unittest.TestCase):
    def test_it_is_refused_by_name_and_the_wrapper_works_on(self):
        with tempfile.TemporaryDirectory() as folder:
            source, library = pathlib.Path(folder, "capturing.c"), pathlib.Path(folder, "capturing.so")
            source.write_text(LIBRARY)
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
            environment = os.environ | {"LD_PRELOAD": f"{library}:{os.environ['LD_PRELOAD']}"}
            done = subprocess.run([sys.executable, "-B", "-c", PROGRAM], capture_output=True, text=True, env=environment, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("DataParallel: a CUDA graph is being captured on cuda:0", done.stdout)
        self.assertTrue(done.stdout.endswith("(8, 4)\n"), done.stdout)


if __name__ == "__main__":
    unittest.main()
