# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem.compare trains one model in each mode, and tells time, memory, traffic and weights."""

import copy
import json
import multiprocessing
import unittest

import models
import tandem
import torch
from reports_test import MOST_BYTES, Frame

ALL = ["single", "torch", "classic", "server", "sharded", "ddp"]


def loss_of_this_process(model, batch):
    if multiprocessing.parent_process() is not None:
        raise RuntimeError("not in the main process")
    return models.mean_loss(model, batch)


def mean_square(model, batch):
    return model(batch).square().mean()


class CompareTest(unittest.TestCase):
    def setUp(self):
        tandem.configure_devices("cpu:3")
        torch.manual_seed(0)

    def test_all_modes_train_alike(self):
        model = models.Mlp().double()
        before = copy.deepcopy(model.state_dict())
        result = tandem.compare(model, models.batch_of(model, 9, 0), models.mean_loss, torch.optim.AdamW, steps=4, lr=0.01)
        told = json.loads(result.json())
        self.assertEqual([mode["mode"] for mode in told["modes"]], ALL)
        self.assertEqual((told["schema_version"], told["model"], told["optimizer"]), (1, "Mlp", "AdamW"))
        self.assertEqual((told["dtype"], told["batch"], told["steps"]), ("f64", 9, 4))
        for mode in told["modes"]:
            self.assertLessEqual(mode["max_relative_difference"], 1e-12, mode["mode"])
            self.assertTrue(mode["complete"])
            self.assertGreater(mode["step_ms"]["p50"], 0)
        self.assertIn("1e-12 is allowed in f64: equal", result.text())
        for name, x in model.state_dict().items():
            self.assertTrue(torch.equal(x, before[name]), name)

    def test_memory_and_traffic_of_the_modes(self):
        model = models.Mlp().double()
        nbytes = sum(x.numel() * 8 for x in model.parameters())
        result = tandem.compare(model, models.batch_of(model, 9, 0), models.mean_loss, torch.optim.Adam, steps=1)
        modes = {mode["mode"]: mode for mode in json.loads(result.json())["modes"]}
        for name, mode in modes.items():
            used = [device for device in mode["devices"] if device["peak_bytes"] > 0]
            self.assertEqual(len(used), 1 if name == "single" else 3, name)
            self.assertGreaterEqual(used[0]["peak_bytes"], nbytes, name)
        self.assertEqual(modes["single"]["links"], [])
        rows = {name: [device["rows"] for device in mode["devices"]] for name, mode in modes.items()}
        self.assertEqual((rows["single"], rows["torch"], rows["ddp"]), ([9, 0, 0], [3, 3, 3], [3, 3, 3]))
        # DataParallel of PyTorch sends the module in each step.
        sent = sum(link["bytes"] for link in modes["torch"]["links"] if link["source"] == "cpu:0")
        self.assertGreaterEqual(sent, 2 * nbytes)

    def test_ddp_in_processes(self):
        model = models.Mlp().double()
        batch = models.batch_of(model, 9, 0)
        result = tandem.compare(model, batch, models.mean_loss, modes=["single"], steps=3, ddp_processes=2)
        (peer,) = json.loads(result.json())["peers"]
        self.assertEqual(peer["name"], "DDP over gloo in 2 processes")
        self.assertLessEqual(peer["max_relative_difference"], 1e-12)
        self.assertGreater(peer["step_ms"]["p50"], 0)
        self.assertIn("DDP over gloo in 2 processes", result.text())

    def test_ddp_is_refused_what_processes_cannot_import(self):
        model = models.Mlp().double()
        batch = models.batch_of(model, 9, 0)
        with self.assertRaisesRegex(tandem.InvalidArgument, "define both at the top of a file"):
            tandem.compare(model, batch, lambda m, b: models.mean_loss(m, b), modes=["single"], ddp_processes=2)
        with self.assertRaisesRegex(tandem.InvalidArgument, "10 processes of DDP for 9 rows"):
            tandem.compare(model, batch, models.mean_loss, modes=["single"], ddp_processes=10)

    def test_an_error_in_a_process_of_ddp_comes_through(self):
        model = models.Mlp().double()
        batch = models.batch_of(model, 9, 0)
        with self.assertRaisesRegex(tandem.Error, r"(?s)process \d of DDP failed:.*Traceback.*not in the main process"):
            tandem.compare(model, batch, loss_of_this_process, modes=["single"], steps=1, ddp_processes=2)

    def test_a_mode_that_differs_is_told(self):
        model = models.Mlp().double()

        def loss(replica, batch):
            wrong = 2 if isinstance(replica, torch.nn.DataParallel) else 1
            return wrong * models.mean_loss(replica, batch)

        result = tandem.compare(model, models.batch_of(model, 9, 0), loss, modes=["single", "torch"], steps=2)
        self.assertIn("NOT EQUAL", result.text())
        self.assertGreater(json.loads(result.json())["modes"][1]["max_relative_difference"], 1e-6)

    def test_pictures(self):
        model = models.Mlp()
        batch = models.batch_of(model, 9, 0)
        result = tandem.compare(model, (batch[0].float(), batch[1]), models.mean_loss, modes=["single", "sharded"], steps=2)
        text = result._repr_html_()
        self.assertLess(len(text.encode()), MOST_BYTES)
        page = Frame(text).page
        for title in ("A step, device by device", "Time by phase", "Bytes by link", "Loss"):
            self.assertIn(f"<h2>{title}</h2>", page)

    def test_a_large_picture_leaves_parts_out(self):
        tandem.configure_devices("cpu:16")
        model = torch.nn.Sequential(*[layer for _ in range(30) for layer in (torch.nn.Linear(6, 6), torch.nn.Tanh())])
        result = tandem.compare(model, models.batch_of(models.Mlp(), 32, 0)[0].float(), mean_square, steps=1)
        self.assertGreater(len(result.html().encode()), MOST_BYTES)
        text = result._repr_html_()
        self.assertLess(len(text.encode()), MOST_BYTES)
        self.assertIn("Left out, to keep a notebook small: Timeline", Frame(text).page)

    def test_wrong_modes_are_refused(self):
        with self.assertRaisesRegex(tandem.InvalidArgument, "no mode 'fast'; there are single, torch"):
            tandem.compare(models.Mlp(), None, None, modes=["fast"])
        with self.assertRaisesRegex(tandem.InvalidArgument, "give one of each"):
            tandem.compare(models.Mlp(), None, None, steps=0)


if __name__ == "__main__":
    unittest.main()
