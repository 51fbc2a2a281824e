# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Twenty steps on any devices, in any chunks and modes, are those of one device."""

import random
import unittest

import models
import tandem
import torch

STEPS = 20
MODES = ("classic", "server", "sharded", "ddp")


def chunks_of(devices, rows, numbers):
    """Random sizes; some devices may have none."""
    cuts = sorted(numbers.randint(0, rows) for _ in range(devices - 1))
    return [b - a for a, b in zip([0, *cuts], [*cuts, rows])]


class ExactnessTest(unittest.TestCase):
    def setUp(self):
        tandem.configure_devices("cpu:7")

    def check(self, make, train):
        """train(wrapper, optimizer, x, y) -> loss"""
        numbers = random.Random(1)
        for devices in (1, 2, 3, 4, 7):
            mode = MODES[numbers.randrange(4)]
            rows = numbers.randint(devices + 4, 12)
            sizes = chunks_of(devices, rows, numbers)
            with self.subTest(model=make.__name__, devices=devices, mode=mode, chunks=sizes):
                model, alone = models.double(make)
                wrapper = tandem.DataParallel(model, devices=list(range(devices)), mode=mode, chunk_sizes=sizes)
                own = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
                reference = torch.optim.SGD(alone.parameters(), lr=0.1, momentum=0.9)
                for step in range(STEPS):
                    x, y = models.batch_of(model, rows, step)
                    loss = train(wrapper, own, x, y)
                    self.assertAlmostEqual(loss, models.train_alone(alone, reference, x, y), delta=1e-12)
                self.assertLessEqual(models.difference(model, alone), 1e-12)

    def test_backward_of_gathered_outputs(self):
        def train(wrapper, optimizer, x, y):
            return models.train_alone(wrapper, optimizer, x, y)

        for make in (models.Mlp, models.Cnn, models.Gpt):
            self.check(make, train)

    def test_steps(self):
        def train(wrapper, optimizer, x, y):
            return wrapper.step((x, y), models.mean_loss, optimizer).loss

        for make in (models.Mlp, models.Cnn, models.Gpt):
            self.check(make, train)


if __name__ == "__main__":
    unittest.main()
