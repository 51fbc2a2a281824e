# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that wrap their module by themselves get a tandem.DataParallel."""

import importlib
import unittest

import models
import tandem
import torch
from torch import nn

OWN = nn.DataParallel
data_parallel_module = importlib.import_module("torch.nn.parallel.data_parallel")


def wrap(module, **options):
    """What such a program does."""
    return nn.DataParallel(module, **options)


class ReplacementTest(unittest.TestCase):
    def setUp(self):
        tandem.configure_devices("cpu:3")

    def test_the_program_trains_on_virtual_devices(self):
        model, alone = models.double(models.Mlp)
        with tandem.replace_data_parallel(gpu0_bsz=1):
            wrapper = wrap(model)
            self.assertIsInstance(wrapper, nn.DataParallel)
        self.assertIsInstance(wrapper, tandem.DataParallel)
        self.assertIsInstance(wrapper, OWN)
        self.assertEqual(wrapper.plan(7), [1, 3, 3])
        own, other = torch.optim.SGD(model.parameters(), 0.1), torch.optim.SGD(alone.parameters(), 0.1)
        for step in range(3):
            x, y = models.batch_of(model, 7, step)
            models.train_alone(wrapper, own, x, y)
            models.train_alone(alone, other, x, y)
        self.assertLessEqual(models.difference(model, alone), 1e-12)

    def test_options_of_the_program_go_first(self):
        with tandem.replace_data_parallel(gpu0_bsz=1):
            self.assertEqual(wrap(models.Mlp(), gpu0_bsz=3).plan(7), [3, 2, 2])

    def test_every_name_is_replaced_and_put_back(self):
        places = (nn, nn.parallel, data_parallel_module)
        with self.assertRaises(ZeroDivisionError), tandem.replace_data_parallel():
            outer = nn.DataParallel
            for place in places:
                self.assertTrue(issubclass(place.DataParallel, tandem.DataParallel), place)
            with tandem.replace_data_parallel(mode="sharded"):
                self.assertIsNot(nn.DataParallel, outer)
            self.assertIs(nn.DataParallel, outer)
            1 / 0
        for place in places:
            self.assertIs(place.DataParallel, OWN, place)


if __name__ == "__main__":
    unittest.main()
