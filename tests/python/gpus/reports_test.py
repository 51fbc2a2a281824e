# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem.explain and tandem.compare on PyTorch's GPUs: bytes by link, times of the GPUs' streams, memory by cause."""

import json
import subprocess
import sys
import unittest

import torch
from torch import nn
from torch.nn import functional as F

import tandem
from tandem._ddp_processes import train_with_ddp

FIRST = """
import torch
import tandem
print(tandem.explain(lambda: tandem.DataParallel(torch.nn.Linear(8, 8).cuda())(torch.ones(8, 8).cuda()).sum().backward()).json())
"""
GPUS = 4
ROWS, IN, HIDDEN, OUT = 16, 8, 32, 4


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(IN, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, OUT)).cuda()


def batch():
    torch.manual_seed(1)
    return torch.randn(ROWS, IN, device="cuda"), torch.randn(ROWS, OUT, device="cuda")


def loss_of(model, part):
    return F.mse_loss(model(part[0]), part[1])


def bytes_of(model):
    return sum(x.nbytes for x in model.parameters())


def links_of(told):
    return {(link["source"], link["destination"]): link["bytes_by_category"] for link in told["links"]}


def step_of(wrapped, optimizer):
    def step():
        optimizer.zero_grad()
        loss_of(wrapped, batch()).backward()
        optimizer.step()

    return step


class ExplainTest(unittest.TestCase):
    def told_of(self, step):
        step()
        return json.loads(tandem.explain(step).json())

    def test_a_step_of_a_wrapper(self):
        model = make_model()
        wrapper = tandem.DataParallel(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        told = self.told_of(lambda: wrapper.step(batch(), loss_of, optimizer))
        self.assertTrue(told["complete"])
        self.assertEqual([(d["name"], d["rows"]) for d in told["devices"]], [(f"cuda:{i}", ROWS // GPUS) for i in range(GPUS)])
        for device in told["devices"]:
            for phase in ("forward", "loss", "backward"):
                self.assertGreater(device["ms_by_phase"][phase], 0, (device["name"], phase))
        self.assertGreater(told["devices"][0]["ms_by_phase"]["update"], 0)
        links = links_of(told)
        inputs = ROWS // GPUS * (IN + OUT) * 4
        for other in ("cuda:1", "cuda:2", "cuda:3"):
            self.assertGreaterEqual(links["cuda:0", other]["parameter"], bytes_of(model))
            self.assertEqual(links["cuda:0", other]["input"], inputs)
            self.assertLessEqual(set(links["cuda:0", other]), {"parameter", "input", "gradient"})
        gradients = sum(categories.get("gradient", 0) for categories in links.values())  # by a tree or a ring, as for their size
        self.assertGreaterEqual(gradients, (GPUS - 1) * bytes_of(model), links)

    def test_a_step_that_is_the_first_on_a_gpu(self):
        """In a process of its own: nothing is on a GPU before."""
        told = json.loads(subprocess.run([sys.executable, "-B", "-c", FIRST], capture_output=True, text=True, timeout=100, check=True).stdout)
        self.assertEqual([device["name"] for device in told["devices"]], [f"cuda:{i}" for i in range(GPUS)])
        self.assertIn(("cuda:0", "cuda:1"), links_of(told))

    def test_a_loss_outside_of_the_replicas(self):
        model = make_model()
        told = self.told_of(step_of(tandem.DataParallel(model), torch.optim.SGD(model.parameters(), lr=0.1)))
        links, outputs = links_of(told), ROWS // GPUS * OUT * 4
        for other in ("cuda:1", "cuda:2", "cuda:3"):
            self.assertEqual(links[other, "cuda:0"]["output"], outputs)
            self.assertEqual(links["cuda:0", other]["output_gradient"], outputs)
        self.assertGreater(told["devices"][0]["ms_by_phase"]["loss"], 0)
        works = {step["phase"]: {d["device"]: d["works"] for d in step["devices"]} for step in told["steps"] if not step["traffic"]}
        self.assertEqual(works["forward"], {f"cuda:{i}": 3 for i in range(GPUS)})  # linear, tanh, linear

    def test_the_wrapper_of_pytorch_without_tandem(self):
        model = make_model()
        told = self.told_of(step_of(nn.DataParallel(model), torch.optim.SGD(model.parameters(), lr=0.1)))
        links = links_of(told)
        for other in ("cuda:1", "cuda:2", "cuda:3"):
            self.assertEqual(links["cuda:0", other]["parameter"], bytes_of(model))
            self.assertEqual(links[other, "cuda:0"]["gradient"], bytes_of(model))
            self.assertEqual(links["cuda:0", other]["activation"], ROWS // GPUS * IN * 4)  # inputs

    def test_nothing_is_left_behind(self):
        model = make_model()
        wrapper = tandem.DataParallel(model)
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            tandem.explain(lambda: wrapper(batch()[0]).sum() / 0 / (1 // 0))
        functions = torch.nn.parallel.comm.broadcast_coalesced, torch.nn.parallel.comm.reduce_add_coalesced
        self.assertEqual({function.__module__ for function in functions}, {"torch.nn.parallel.comm"})

    def test_a_trace(self):
        model = make_model()
        wrapper = tandem.DataParallel(model)
        wrapper(batch()[0])
        events = json.loads(tandem.explain(lambda: wrapper(batch()[0])).trace())
        events = events["traceEvents"] if isinstance(events, dict) else events
        tracks = {event["args"]["name"] for event in events if event.get("name") == "process_name"}
        self.assertTrue({f"cuda:{i}" for i in range(GPUS)} <= tracks, tracks)


class CompareTest(unittest.TestCase):
    def test_all_modes_train_alike(self):
        model = make_model()
        result = tandem.compare(model, batch(), loss_of, torch.optim.AdamW, steps=2, progress=False)
        told = json.loads(result.json())
        modes = {mode["mode"]: mode for mode in told["modes"]}
        self.assertEqual(list(modes), ["single", "torch", "classic", "server", "sharded", "ddp"])
        for name, mode in modes.items():
            self.assertTrue(mode["complete"], name)
            self.assertLessEqual(mode["max_relative_difference"], 1e-4, name)
            rows = [device["rows"] for device in mode["devices"]]
            self.assertEqual(rows, [ROWS, 0, 0, 0] if name == "single" else [ROWS // GPUS] * GPUS, name)
            for device in mode["devices"]:
                self.assertEqual(device["peak_bytes"], sum(device["peak_by_category"].values()))
                # a GPU that is open holds a number for fused updates, in a block of PyTorch's allocator, and the factors of comparisons
                self.assertEqual(device["peak_bytes"] > 512 + 8192, name != "single" or device["name"] == "cuda:0", name)
        states = {name: mode["devices"][0]["peak_by_category"].get("optimizer", 0) for name, mode in modes.items()}
        self.assertGreaterEqual(states["torch"], 2 * bytes_of(model))
        for mode in modes.values():
            for link in mode["links"]:
                self.assertGreater(link["bytes"], 0)
        self.assertEqual(modes["single"]["links"], [])
        self.assertIn("Memory through a step", result.html())

    def test_some_gpus_by_name(self):
        told = json.loads(tandem.compare(make_model(), batch(), loss_of, devices="cuda:0,cuda:1", modes=["torch", "server"], steps=1,
                                         progress=False).json())
        for mode in told["modes"]:
            self.assertEqual([(d["name"], d["rows"]) for d in mode["devices"]], [("cuda:0", ROWS // 2), ("cuda:1", ROWS // 2)])

    def test_ddp_in_processes(self):
        told = json.loads(tandem.compare(make_model(), batch(), loss_of, modes=["single"], steps=2, ddp_processes=2, progress=False).json())
        (peer,) = told["peers"]
        self.assertEqual(peer["name"], "DDP over gloo in 2 processes")  # the stand-in's NCCL reaches no other process
        self.assertLessEqual(peer["max_relative_difference"], 1e-4)

    def test_more_processes_over_nccl_than_gpus(self):
        gpus = [torch.device("cuda", 0), torch.device("cuda", 1)]
        with self.assertRaisesRegex(tandem.InvalidArgument, "3 processes of DDP over nccl for 2 GPUs, .*; give ddp_processes=2, or more GPUs"):
            train_with_ddp(3, gpus, "nccl", make_model(), batch(), loss_of, torch.optim.SGD, {"lr": 0.1}, 1, lambda step: None)


if __name__ == "__main__":
    unittest.main()
