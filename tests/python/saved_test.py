# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What is on virtual devices can be saved by torch.save, and loaded to where it was or elsewhere."""

import copy
import io
import unittest

import models
import tandem
import tandem.parallel
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel


def saved(value, **options):
    """The value after torch.save and torch.load."""
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, **options)


class SavedTest(unittest.TestCase):
    def setUp(self):
        tandem.configure_devices("cpu:2")
        tandem.register_devices()

    def test_tensors(self):
        x = torch.arange(6.0, device="tandem:1").reshape(2, 3).t()
        for place, device in ((None, "tandem:1"), ("cpu", "cpu"), ("tandem:0", "tandem:0")):
            with self.subTest(place):
                y = saved(x, map_location=place)
                self.assertEqual((y.device, y.stride()), (torch.device(device), x.stride()))
                self.assertEqual(y.tolist(), x.tolist())

    def test_deep_copies(self):
        for original in (torch.arange(6.0, device="tandem:1"), models.Mlp().to("tandem:1")):
            twin = copy.deepcopy(original)
            pairs = [(original, twin)]
            if isinstance(original, torch.nn.Module):
                pairs = list(zip(original.parameters(), twin.parameters(), strict=True))
            for one, other in pairs:
                self.assertEqual(other.device, torch.device("tandem:1"))
                self.assertEqual(one.tolist(), other.tolist())
                self.assertNotEqual(one.data_ptr(), other.data_ptr())

    def test_the_state_of_a_wrapped_module(self):
        model = models.Mlp().to("tandem:0")
        wrapper = tandem.DataParallel(model, [0, 1])
        wrapper(torch.ones(4, 6)).sum().backward()
        other = tandem.DataParallel(models.Mlp())
        other.load_state_dict(saved(wrapper.state_dict(), map_location="cpu"))
        x = torch.randn(4, 6)
        torch.testing.assert_close(other(x), wrapper(x).cpu())

    def test_wrappers(self):
        """A copy is a wrapper of a copy of the module, with the same options."""
        x = torch.randn(7, 6)
        with tandem.replace_data_parallel(devices="cpu:3"):
            replacement = nn.DataParallel(models.Mlp())
        makers = {
            "copy": copy.copy,
            "deepcopy": copy.deepcopy,
            "average": lambda model: AveragedModel(model).module,
            "saved": lambda model: saved(model, weights_only=False),
        }
        for wrapper in (
            tandem.DataParallel(models.Mlp(), gpu0_bsz=1, mode="server", devices="cpu:3"),
            tandem.BalancedDataParallel(1, models.Mlp().to("tandem:0"), [0, 1]),
            replacement,
        ):
            for name, make in makers.items():
                with self.subTest(name, kind=type(wrapper).__name__):
                    for other in (make(wrapper), make(make(wrapper))):
                        self.assertIsInstance(other, tandem.DataParallel)
                        self.assertEqual(other.plan(7), wrapper.plan(7))
                        self.assertEqual(other.output_device, wrapper.output_device)
                        self.assertTrue(torch.equal(other(x), wrapper(x)))
                        self.assertEqual(other.module is wrapper.module, name == "copy")
                    other.step((x, torch.zeros(7, dtype=torch.long)), models.mean_loss)
                    wrapper.zero_grad()

    def test_optimizers(self):
        """A copy has the state that the devices had, and goes on alike with the copied parameters."""
        x, y = torch.randn(7, 6), torch.arange(7) % 3
        for make in (copy.deepcopy, lambda pair: saved(pair, weights_only=False)):
            wrapper = tandem.DataParallel(models.Mlp())
            optimizer = tandem.Optimizer(wrapper, torch.optim.AdamW, lr=0.1)
            wrapper.step((x, y), models.mean_loss, optimizer)
            other, others = make((wrapper, optimizer))
            self.assertIsInstance(others, torch.optim.AdamW)
            self.assertIsInstance(others, tandem.Optimizer)
            torch.testing.assert_close(others.state_dict(), optimizer.state_dict(), rtol=0, atol=0)
            for model, own in ((wrapper, optimizer), (other, others)):
                model.step((x, y), models.mean_loss, own)
            self.assertEqual(models.difference(wrapper, other), 0)
            self.assertTrue(torch.equal(copy.copy(others).state_dict()["state"][0]["exp_avg"],
                                        others.state_dict()["state"][0]["exp_avg"]))

    def test_copies(self):
        model = models.Mlp().to("tandem:0")
        for detach in (False, True):
            copies = saved(tandem.parallel.replicate(model, [0, 1], detach), weights_only=False)
            for replica, device in zip(copies, ("tandem:0", "tandem:1"), strict=True):
                self.assertEqual(replica[0].weight.device, torch.device(device))
                self.assertEqual(replica[0].weight.tolist(), model[0].weight.tolist())


if __name__ == "__main__":
    unittest.main()
