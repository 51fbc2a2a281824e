# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The Trainer of Hugging Face comes to what it comes to on one device: where it wraps the model itself, and where the user does.

On the stand-in's GPUs if it is launched there, else on virtual devices."""

import contextlib
import importlib.util
import tempfile
import unittest
import warnings

import torch
from torch import nn

import tandem
from tandem.runner.virtual_cuda import cuda_as_virtual_devices

if importlib.util.find_spec("transformers") is None:
    raise unittest.SkipTest("transformers is not there; scripts/setup --programs")
from transformers import BertConfig, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
from transformers.trainer_callback import PrinterCallback

ON_GPUS = torch.cuda.is_available()
ROWS = 8  # of a batch, on all devices together
WAYS = {"plain": {}, "accumulating": {"gradient_accumulation_steps": 2}, "recomputing": {"gradient_checkpointing": True}}
FIGURES = ("loss", "grad_norm", "eval_loss")


def several_devices():
    """Four devices, which a program finds as GPUs."""
    return contextlib.nullcontext() if ON_GPUS else cuda_as_virtual_devices(4)


def gpt2():
    torch.manual_seed(1)
    return GPT2LMHeadModel(GPT2Config(vocab_size=40, n_positions=16, n_embd=16, n_layer=2, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                                      use_cache=False, bos_token_id=0, eos_token_id=0))


def texts():
    """Their numbers of labels differ."""
    torch.manual_seed(2)
    rows = [{"input_ids": x, "labels": x.clone()} for x in torch.randint(1, 40, (64, 12))]
    for i, row in enumerate(rows):
        row["labels"][: i % 5] = -100
    return rows


def bert():
    torch.manual_seed(1)
    return BertForSequenceClassification(BertConfig(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                                                    max_position_embeddings=16, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))


def sentences():
    torch.manual_seed(2)
    return [{"input_ids": x, "attention_mask": torch.ones_like(x), "labels": x[0] % 2} for x in torch.randint(40, (64, 10))]


CASES = {"GPT-2": (gpt2, texts), "BERT": (bert, sentences)}


class TrainerTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def trainer(self, case, devices, steps=2, **options):
        """For `devices` of them; 0: on the host."""
        make, data = CASES[case]
        rows = ROWS // max(1, devices)
        arguments = TrainingArguments(self.folder, per_device_train_batch_size=rows, per_device_eval_batch_size=rows, max_steps=steps, learning_rate=1e-3,
                                      adam_epsilon=1e-4, max_grad_norm=0.5, lr_scheduler_type="constant", logging_steps=1, eval_strategy="steps", eval_steps=2,
                                      save_strategy="no", report_to=[], disable_tqdm=True, seed=5, use_cpu=devices == 0, **options)
        if devices == 1:
            arguments._n_gpu = 1
        trainer = Trainer(make(), arguments, train_dataset=data(), eval_dataset=data()[:16])
        trainer.remove_callback(PrinterCallback)
        return trainer

    def figures_of(self, trainer, **options):
        trainer.train(**options)
        return [entry[name] for entry in trainer.state.log_history for name in FIGURES if name in entry]

    def alone(self, case, **options):
        trainer = self.trainer(case, 0, **options)
        return self.figures_of(trainer), trainer.model.state_dict()

    def check(self, trainer, alone, **options):
        figures, weights = alone
        found = self.figures_of(trainer, **options)
        self.assertEqual(len(found), len(figures))
        for a, b in zip(found, figures):
            self.assertAlmostEqual(a, b, delta=2e-5 * max(1, abs(b)))
        for name, x in trainer.model.state_dict().items():
            torch.testing.assert_close(x.cpu(), weights[name], rtol=0, atol=2e-5)

    def test_it_wraps_by_itself(self):
        for case in CASES:
            for way, options in WAYS.items():
                alone = self.alone(case, **options)
                with self.subTest(case, way=way), several_devices(), tandem.replace_data_parallel():
                    trainer = self.trainer(case, 4, **options)
                    self.check(trainer, alone)
                    self.assertEqual(trainer.args.n_gpu, 4)
                    self.assertIsInstance(trainer.model_wrapped, tandem.DataParallel)

    def test_the_user_wraps(self):
        for case in CASES:
            for way, options in {**WAYS, "smoothing": {"label_smoothing_factor": 0.1}}.items():
                alone = self.alone(case, **options)
                with self.subTest(case, way=way), several_devices():
                    trainer = self.trainer(case, 1, **options)
                    trainer.model_wrapped = wrapper = tandem.DataParallel(trainer.model, scalars="weighted_mean")
                    self.assertEqual(len(wrapper.device_ids), 4)
                    self.check(trainer, alone)
                    self.assertIs(trainer.model_wrapped, wrapper)

    def test_saved_loaded_and_resumed(self):
        alone = self.alone("GPT-2", steps=4)
        with several_devices(), tandem.replace_data_parallel(mode="sharded"):
            first = self.trainer("GPT-2", 4)
            first.args.save_strategy, first.args.save_steps = "steps", 2
            first.train()
            again = self.trainer("GPT-2", 4, steps=4)
            self.check(again, alone, resume_from_checkpoint=True)
            again.save_model(f"{self.folder}/final")
        loaded = GPT2LMHeadModel.from_pretrained(f"{self.folder}/final")
        for name, x in loaded.state_dict().items():
            torch.testing.assert_close(x, again.model.state_dict()[name].cpu(), rtol=0, atol=0)

    def test_a_loss_that_the_trainer_multiplies(self):
        """Label smoothing where it wraps by itself: as with torch.nn.DataParallel, and said so."""
        losses = {}
        for kind in ("torch", "tandem"):
            with several_devices(), contextlib.ExitStack() as stack, warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                if kind == "tandem":
                    stack.enter_context(tandem.replace_data_parallel())
                trainer = self.trainer("BERT", 4, label_smoothing_factor=0.1)
                trainer.train()
                losses[kind] = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        self.assertTrue(any("multiplies it by the 4 devices" in str(warning.message) for warning in caught))
        for a, b in zip(losses["tandem"], losses["torch"], strict=True):
            self.assertAlmostEqual(a, b, delta=1e-4)
        self.assertGreater(losses["torch"][0], 2)  # four times 0.69

    def test_nothing_stays_replaced(self):
        self.assertFalse(issubclass(nn.DataParallel, tandem.DataParallel))


if __name__ == "__main__":
    unittest.main()
