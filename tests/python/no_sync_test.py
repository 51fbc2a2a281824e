# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients that stay in the replicas until a later backward."""

import unittest

import models
import tandem
import torch
from torch import nn


class NoSyncTest(unittest.TestCase):
    def setUp(self):
        tandem.configure_devices("cpu:3")

    def test_gradients_are_reduced_after_the_block(self):
        for mode in ("classic", "server", "sharded", "ddp"):
            with self.subTest(mode):
                model, alone = models.double(models.Mlp)
                wrapper = tandem.DataParallel(model, mode=mode)
                batches = [models.batch_of(model, 7, step) for step in range(3)]
                for x, y in batches[:2]:
                    models.loss_of(alone(x), y).backward()
                with wrapper.no_sync():
                    wrapper.step(batches[0], models.mean_loss)
                    with wrapper.no_sync():
                        wrapper.step(batches[1], models.mean_loss)
                    # The first device's part is there, and the others' are not.
                    self.assertFalse(torch.allclose(model[0].weight.grad, alone[0].weight.grad))
                x, y = batches[2]
                models.loss_of(alone(x), y).backward()
                wrapper.step(batches[2], models.mean_loss)
                for mine, expected in zip(model.parameters(), alone.parameters()):
                    torch.testing.assert_close(mine.grad, expected.grad, rtol=1e-12, atol=1e-12)

    def test_sync_reduces_them_too(self):
        model, alone = models.double(models.Mlp)
        wrapper = tandem.DataParallel(model, mode="server")
        batch = models.batch_of(model, 7, 0)
        models.loss_of(alone(batch[0]), batch[1]).backward()
        with wrapper.no_sync():
            wrapper.step(batch, models.mean_loss)
        wrapper.sync()
        torch.testing.assert_close(model[0].weight.grad, alone[0].weight.grad, rtol=1e-12, atol=1e-12)

    def test_a_part_that_is_replaced_within_is_refused(self):
        model = models.Mlp()
        wrapper = tandem.DataParallel(model)
        before = model[1]
        with wrapper.no_sync():
            model[1] = nn.Identity()
            with self.assertRaisesRegex(tandem.InvalidArgument, "was replaced under no_sync"):
                wrapper(torch.ones(7, 6))
            model[1] = before
        wrapper(torch.ones(7, 6))


if __name__ == "__main__":
    unittest.main()
