# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What a step on PyTorch's GPUs asks of CUDA, as far as it depends on no times: copies, waits of the host in CUDA, bytes between GPUs."""

import json
import unittest

import torch
from control import StandInTest
from torch import nn

import tandem


class CostsTest(StandInTest):
    def test_an_evaluation_sends_unchanged_parameters_once(self):
        model = nn.Sequential(nn.Linear(64, 256), nn.Linear(256, 64)).cuda().eval()
        wrapper, x = tandem.DataParallel(model), torch.randn(8, 64).cuda()

        def evaluate():
            with torch.no_grad():
                for _ in range(4):
                    wrapper(x)

        links = json.loads(tandem.explain(evaluate).json())["links"]
        sent = sum(link["bytes"] for link in links if link["source"] == "cuda:0")
        parameters = sum(p.nbytes for p in model.parameters())
        copies = torch.cuda.device_count() - 1
        self.assertGreater(sent, copies * parameters)
        self.assertLess(sent, (copies + 0.1) * parameters)


if __name__ == "__main__":
    unittest.main()
