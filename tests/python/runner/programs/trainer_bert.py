# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A classifier by the Trainer of Hugging Face, with warm-up, evaluation with a metric, and the best model at the end."""

import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed
from transformers.trainer_callback import PrinterCallback


def sentences(count):
    words = torch.randint(40, (count, 10))
    return [{"input_ids": row, "attention_mask": torch.ones_like(row), "labels": row[0] % 2} for row in words]


def main():
    set_seed(6)
    devices = max(1, torch.cuda.device_count())
    config = BertConfig(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, max_position_embeddings=16,
                        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=2)
    model, data = BertForSequenceClassification(config), sentences(48)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(folder, num_train_epochs=2, per_device_train_batch_size=8 // devices, per_device_eval_batch_size=8 // devices,
                                      learning_rate=3e-3, adam_epsilon=1e-4, warmup_steps=2, max_grad_norm=0.5, logging_steps=3,
                                      eval_strategy="epoch", save_strategy="epoch", load_best_model_at_end=True, report_to=[], disable_tqdm=True, seed=6)
        trainer = Trainer(model, arguments, train_dataset=data, eval_dataset=data[:20],
                          compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())})
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        for entry in trainer.state.log_history:
            print(" ".join(f"{name} {entry[name]:.5f}" for name in ("loss", "grad_norm", "eval_loss", "eval_accuracy") if name in entry), flush=True)
        print(f"at the end {trainer.evaluate()['eval_loss']:.5f}")


if __name__ == "__main__":
    main()
