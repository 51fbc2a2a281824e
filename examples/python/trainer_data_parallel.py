# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
#
# trainer.py on two devices: one line is added, beside the import, and the losses are the same. The Trainer keeps the model
# itself for what it evaluates and saves. The model returns its loss, so the devices' losses have to become one: the mean,
# weighted by their rows. That is right for models that divide by the Trainer's num_items_in_batch, too.
#
# diff trainer.py trainer_data_parallel.py:
#   + import tandem
#   + trainer.model_wrapped = tandem.DataParallel(trainer.model, devices="cpu:2", scalars="weighted_mean")
#
# Expected output:
#   step 8: loss 2.9904
#   step 8: eval_loss 2.4381
#   step 16: loss 2.0798
#   step 16: eval_loss 1.7832
#   step 24: loss 1.6251
#   step 24: eval_loss 1.5692
#   step 32: loss 1.4535
#   step 32: eval_loss 1.4305
#   3 5 7 9 is followed by 11 13 15 17 19 21
import tempfile

import tandem
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
from transformers.trainer_callback import PrinterCallback


def texts(count: int) -> list[dict[str, torch.Tensor]]:
    begin, step = torch.randint(40, (count, 1)), torch.randint(1, 4, (count, 1))
    rows = (begin + step * torch.arange(12)) % 40
    return [{"input_ids": row, "labels": row} for row in rows]


def train(folder: str) -> None:
    torch.manual_seed(1)
    config = GPT2Config(vocab_size=40, n_positions=16, n_embd=32, n_layer=2, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0,
                        attn_pdrop=0.0, use_cache=False, bos_token_id=0, eos_token_id=0)
    data = texts(160)
    arguments = TrainingArguments(folder, num_train_epochs=4, per_device_train_batch_size=8, gradient_accumulation_steps=2,
                                  learning_rate=1e-2, logging_steps=8, eval_strategy="epoch", save_strategy="epoch",
                                  gradient_checkpointing=True, use_cpu=True, report_to=[], disable_tqdm=True)
    trainer = Trainer(GPT2LMHeadModel(config), arguments, train_dataset=data[:128], eval_dataset=data[128:])
    trainer.remove_callback(PrinterCallback)
    trainer.model_wrapped = tandem.DataParallel(trainer.model, devices="cpu:2", scalars="weighted_mean")
    trainer.train()
    for entry in trainer.state.log_history[:-1]:
        name = "loss" if "loss" in entry else "eval_loss"
        print(f"step {entry['step']}: {name} {float(entry[name]):.4f}")
    trainer.save_model(f"{folder}/final")
    loaded = GPT2LMHeadModel.from_pretrained(f"{folder}/final")
    words = loaded.generate(torch.tensor([[3, 5, 7, 9]]), max_new_tokens=6, do_sample=False, pad_token_id=0)
    print("3 5 7 9 is followed by", *words[0, 4:].tolist())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        train(temporary)
