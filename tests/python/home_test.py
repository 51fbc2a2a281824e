# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Where a module and its outputs are: device_ids mean what they mean to torch.nn.DataParallel, devices may be the host's."""

import unittest

import models
import tandem
import torch
from torch import nn

X = torch.ones(4, 6)


def refused(device):
    return f"module must have its parameters and buffers on device {device}"


class HomeTest(unittest.TestCase):
    def setUp(self):
        tandem.configure_devices("cpu:3")
        tandem.register_devices()

    def test_device_ids_want_the_module_on_the_first_device(self):
        for home, ids, is_there in (("cpu", [0, 1], False), ("tandem:1", [0, 1], False), ("tandem:1", [1, 0], True)):
            with self.subTest(home=home, ids=ids):
                model = models.Mlp().to(home)
                for call in (lambda m: m(X), lambda m: m.step(X, lambda replica, x: replica(x).sum())):
                    wrapper = tandem.DataParallel(model, ids)
                    if is_there:
                        call(wrapper)
                    else:
                        self.assertRaisesRegex(RuntimeError, refused(f"tandem:{ids[0]}"), call, wrapper)

    def test_the_module_may_be_moved_after_wrapping(self):
        wrapper = tandem.DataParallel(models.Mlp(), [1, 0]).to("tandem:1")
        self.assertEqual(wrapper(X).device, torch.device("tandem:1"))
        wrapper.to("cpu")
        self.assertRaisesRegex(RuntimeError, refused("tandem:1") + ".*devices=", wrapper, X)

    def test_a_module_in_two_places_is_refused(self):
        for first, second in (("cpu", "tandem:0"), ("tandem:0", "cpu"), ("tandem:0", "tandem:1")):
            model = nn.Sequential(nn.Linear(6, 6).to(first), nn.Linear(6, 6).to(second))
            with self.subTest(first=first, second=second):
                self.assertRaisesRegex(RuntimeError, refused("tandem:0"), tandem.DataParallel(model), X)
                self.assertRaisesRegex(RuntimeError, refused("tandem:0"), tandem.DataParallel(model, [0, 1]), X)

    def test_devices_leave_a_module_on_the_host(self):
        for devices in (None, "cpu:2", [0, 1], ["tandem:0", "cpu:1"]):
            with self.subTest(devices):
                wrapper = tandem.DataParallel(models.Mlp(), devices=devices)
                self.assertEqual(wrapper(X).device.type, "cpu")

    def test_one_device_of_device_ids_takes_the_module(self):
        model = models.Mlp()
        wrapper = tandem.DataParallel(model, [2])
        self.assertEqual(model[0].weight.device, torch.device("tandem:2"))
        self.assertEqual(wrapper(X).device, torch.device("tandem:2"))

    def test_outputs_of_a_module_without_tensors(self):
        self.assertEqual(tandem.DataParallel(nn.Identity(), [1, 0])(X).device, torch.device("tandem:1"))
        self.assertEqual(tandem.DataParallel(nn.Identity())(X).device, torch.device("cpu"))

    def test_gpus_that_are_not_there_are_refused_in_words_of_python(self):
        part = nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 6, device="meta"))
        calls = {
            "PyTorch sees no GPU.*devices='cpu:4'": (
                lambda: tandem.DataParallel(models.Mlp(), devices="cuda:4"),
                lambda: tandem.DataParallel(models.Mlp(), devices=["cuda:0", torch.device("cuda:1")]),
                lambda: tandem.DataParallel(models.Mlp(), [torch.device("cuda", 0)]),
                lambda: tandem.DataParallel(models.Mlp(), output_device="cuda:0"),
            ),
            "on device meta.*to_empty": (
                lambda: tandem.DataParallel(models.Mlp().to("meta"))(X),
                lambda: tandem.DataParallel(models.Mlp().to("meta"), devices="cpu:2").plan(4),
                lambda: tandem.DataParallel(part)(X),
                lambda: tandem.DataParallel(models.Mlp().to("meta"), [0, 1])(X),
            ),
        }
        for text, kinds in calls.items():
            for number, call in enumerate(kinds):
                with self.subTest(text, number=number), self.assertRaisesRegex(tandem.InvalidArgument, text) as caught:
                    call()
                self.assertNotRegex(str(caught.exception), "->|::")
        model = models.Mlp()
        wrapper = tandem.DataParallel(model)
        wrapper(X)
        with self.assertRaisesRegex(tandem.InvalidArgument, "to_empty"):
            model.to("meta")
            wrapper(X)


if __name__ == "__main__":
    unittest.main()
