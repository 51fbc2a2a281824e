# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
#
# trainer.py on two devices: one line differs, beside the import, and the losses are the same. The model returns its loss
# itself, so the devices' losses have to become one: the mean, weighted by their rows. That is right as well for models
# that divide their loss by the Trainer's num_items_in_batch, of which each device gets its part.
#
# diff trainer.py trainer_data_parallel.py:
#   + import tandem
#   - model = BertForSequenceClassification(config)
#   + model = tandem.DataParallel(BertForSequenceClassification(config), devices="cpu:2", scalars="weighted_mean")
#
# Expected output:
#   step 8: loss 0.6834
#   step 16: loss 0.5821
#   step 24: loss 0.3973
#   step 32: loss 0.2797
import tandem
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
from transformers.trainer_callback import PrinterCallback


def sentences(count: int) -> list[dict[str, torch.Tensor]]:
    words = torch.randint(40, (count, 12))
    return [{"input_ids": row, "attention_mask": torch.ones_like(row), "labels": row[0] % 2} for row in words]


def main() -> None:
    torch.manual_seed(1)
    config = BertConfig(vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=2)
    model = tandem.DataParallel(BertForSequenceClassification(config), devices="cpu:2", scalars="weighted_mean")
    arguments = TrainingArguments(num_train_epochs=4, per_device_train_batch_size=16, learning_rate=2e-3, logging_steps=8,
                                  use_cpu=True, remove_unused_columns=False, report_to=[], save_strategy="no",
                                  disable_tqdm=True)
    trainer = Trainer(model, arguments, train_dataset=sentences(128))
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    for entry in trainer.state.log_history[:-1]:
        print(f"step {entry['step']}: loss {float(entry['loss']):.4f}")


if __name__ == "__main__":
    main()
