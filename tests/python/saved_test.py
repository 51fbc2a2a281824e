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

    def test_copies(self):
        model = models.Mlp().to("tandem:0")
        for detach in (False, True):
            copies = saved(tandem.parallel.replicate(model, [0, 1], detach), weights_only=False)
            for replica, device in zip(copies, ("tandem:0", "tandem:1"), strict=True):
                self.assertEqual(replica[0].weight.device, torch.device(device))
                self.assertEqual(replica[0].weight.tolist(), model[0].weight.tolist())


if __name__ == "__main__":
    unittest.main()
