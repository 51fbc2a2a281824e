# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A causal language model by the Trainer of Hugging Face: accumulation, recomputation, evaluation, resuming, saving and loading."""

import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed
from transformers.trainer_callback import PrinterCallback


def texts(count):
    rows = torch.randint(1, 40, (count, 12))
    labels = rows.clone()
    for i in range(count):
        labels[i, : i % 5] = -100  # so that rows have different numbers of labels
    return [{"input_ids": x, "labels": y} for x, y in zip(rows, labels)]


def trainer_of(model, folder, data, steps, **options):
    devices = max(1, torch.cuda.device_count())
    arguments = TrainingArguments(folder, per_device_train_batch_size=1, per_device_eval_batch_size=8 // devices, gradient_accumulation_steps=8 // devices,
                                  max_steps=steps, learning_rate=1e-3, adam_epsilon=1e-4, gradient_checkpointing=True, logging_steps=1, save_steps=3,
                                  eval_strategy="steps", eval_steps=3, report_to=[], disable_tqdm=True, seed=5, **options)
    trainer = Trainer(model, arguments, train_dataset=data, eval_dataset=data[:16])
    trainer.remove_callback(PrinterCallback)
    return trainer


def tell(trainer):
    for entry in trainer.state.log_history:
        print(" ".join(f"{name} {entry[name]:.5f}" for name in ("loss", "grad_norm", "eval_loss") if name in entry), flush=True)


def main():
    set_seed(5)
    config = GPT2Config(vocab_size=40, n_positions=16, n_embd=16, n_layer=2, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                        use_cache=False, bos_token_id=0, eos_token_id=0)
    data = texts(64)
    with tempfile.TemporaryDirectory() as folder:
        trainer = trainer_of(GPT2LMHeadModel(config), folder, data, 3)
        trainer.train()
        tell(trainer)
        again = trainer_of(GPT2LMHeadModel(config), folder, data, 5)
        again.train(resume_from_checkpoint=True)
        tell(again)
        again.save_model(folder + "/final")
        loaded = GPT2LMHeadModel.from_pretrained(folder + "/final")
    x = torch.stack([row["input_ids"] for row in data[:4]])
    print(f"loaded {loaded(x, labels=x).loss.item():.5f}")


if __name__ == "__main__":
    main()
