# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that wrap their module by themselves get a tandem.DataParallel."""

import importlib
import subprocess
import sys
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

    def test_methods_that_a_class_overrides_are_called(self):
        def method(name):
            def call(self, *args):
                seen.append(name)
                return getattr(super(kind, self), name)(*args)

            return call

        names = ("scatter", "replicate", "parallel_apply", "gather")
        for home in ("cpu", "tandem:0"):
            for chosen in [(name,) for name in names] + [names]:
                with self.subTest(chosen, home=home), tandem.replace_data_parallel(devices="cpu:3", gpu0_bsz=1):
                    seen = []
                    kind = type("Kind", (torch.nn.DataParallel,), {name: method(name) for name in chosen})
                    model, alone = models.double(models.Mlp)
                    wrapper = kind(model.to(home))
                    x, y = models.batch_of(alone, 7, 0)
                    outputs = wrapper(x)
                    self.assertEqual(seen, list(chosen))
                    torch.testing.assert_close(outputs.cpu(), alone(x), rtol=0, atol=1e-12)
                    self.assertEqual(outputs.device, torch.device(home))
                    models.loss_of(outputs, y.to(home)).backward()
                    models.loss_of(alone(x), y).backward()
                    for p, q in zip(model.parameters(), alone.parameters(), strict=True):
                        torch.testing.assert_close(p.grad.cpu(), q.grad, rtol=0, atol=1e-12)
                    parts, named = wrapper.scatter((x,), {"y": y}, wrapper.device_ids)
                    self.assertEqual([len(part[0]) for part in parts], wrapper.plan(7))
                    self.assertEqual([len(part["y"]) for part in named], wrapper.plan(7))

    def test_options_of_the_program_go_first(self):
        with tandem.replace_data_parallel(gpu0_bsz=1):
            self.assertEqual(wrap(models.Mlp(), gpu0_bsz=3).plan(7), [3, 2, 2])

    def test_each_tensor_is_split_by_itself(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(()))
                self.seen = []

            def forward(self, x, table, options):
                self.seen.append((len(x), len(table), options["n"].shape, table.device == options["n"].device == x.device))
                return x * self.weight

        with tandem.replace_data_parallel():
            wrapper = wrap(Net())
        x = torch.arange(7.0)
        self.assertTrue(torch.equal(wrapper(x, torch.ones(5), options={"n": torch.ones(3, 1)}), x))
        self.assertEqual(sorted(wrapper.module.seen), [(2, 1, (1, 1), True), (2, 2, (1, 1), True), (3, 2, (1, 1), True)])
        wrapper(x[:1], torch.ones(5), options={"n": torch.ones(3, 1)})
        self.assertEqual(wrapper.module.seen[-1], (1, 5, (3, 1), True))
        with self.assertRaisesRegex(tandem.InvalidArgument, "a tensor of the arguments has 2 rows, and 3 devices"):
            wrapper(x, torch.ones(2), options={"n": torch.ones(3, 1)})

    def test_losses_of_a_trainer_that_wraps_by_itself(self):
        """It gives the number of labels with a row for each device, and takes the mean of the losses times the devices."""
        labels = torch.tensor([1, -100, 2, 0, -100, -100, 3])

        class Divides(nn.Linear):
            def forward(self, x, labels, num_items_in_batch):
                loss = (super().forward(x)[:, 0] * (labels != -100)).sum() / num_items_in_batch
                return {"loss": loss}

        class Ignores(nn.Linear):
            def forward(self, x, labels, num_items_in_batch):
                return (super().forward(x).mean(), x)

        for kind in (Divides, Ignores):
            for rows in (7, 3, 1):
                model, alone = models.double(lambda: kind(2, 1))
                x = torch.randn(7, 2, dtype=torch.float64)[:rows]
                items = torch.tensor(4.0)
                with tandem.replace_data_parallel():
                    outputs = wrap(model)(x, labels=labels[:rows], num_items_in_batch=items.unsqueeze(0).expand(3, -1))
                loss = (outputs["loss"] if isinstance(outputs, dict) else outputs[0]).mean() * 3
                outputs = alone(x, labels[:rows], items)
                expected = outputs["loss"] if isinstance(outputs, dict) else outputs[0]
                loss.backward()
                expected.backward()
                with self.subTest(kind.__name__, rows=rows):
                    self.assertAlmostEqual(loss.item(), expected.item(), delta=1e-12)
                    torch.testing.assert_close(model.weight.grad, alone.weight.grad)

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

    def test_a_first_measurement_within_the_block_knows_the_class_of_pytorch(self):
        program = (
            "import tandem\n"
            "from torch import nn\n"
            "wrapper = nn.DataParallel(nn.Linear(2, 2))\n"
            "own = vars(nn.DataParallel)['replicate']\n"
            "with tandem.replace_data_parallel():\n"
            "    from tandem.gpu_memory import communicators, module_hooks, module_paths\n"
            "    communicators.Communicators().attach()\n"
            "    marked = module_hooks.is_data_parallel(wrapper)\n"
            "print(module_paths.is_wrapper(wrapper), marked, vars(nn.DataParallel)['replicate'] is not own)\n"
        )
        done = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.stdout, "True True True\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
