#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What tandem.memory costs on PyTorch's GPUs: a measured step of BERT, tandem run around a program, and an op of the stand-in.

Rounds are taken in turn, and figures are medians. Run it by python -m tandem.stand_in, with PyTorch and the packages of
scripts/setup --programs in PYTHONPATH; on a GPU the last figure is none of the stand-in's.
"""

import argparse
import contextlib
import io
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from tandem.gpu_memory import Recorder
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

ROWS, TOKENS, WIDTH = 8, 128, 128
PROGRAM = """
import torch
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).cuda()
optimizer = torch.optim.AdamW(net.parameters())
for _ in range(5):
    optimizer.zero_grad()
    net(torch.randn(16, 64, device="cuda")).square().mean().backward()
    optimizer.step()
"""


class EachSecondStep(TrainerCallback):
    """Times each step of the Trainer, and records every second one: its beginning and its end are timed apart."""

    def __init__(self):
        self.recorder = None
        self.plain, self.recorded, self.beginnings, self.ends = [], [], [], []

    def on_step_begin(self, args, state, control, **kwargs):
        torch.cuda.synchronize()
        if state.global_step % 2:
            begin = time.perf_counter()
            self.recorder = Recorder()
            self.recorder.start()
            self.beginnings.append(time.perf_counter() - begin)
        self.begin = time.perf_counter()

    def on_step_end(self, args, state, control, **kwargs):
        torch.cuda.synchronize()
        end = time.perf_counter()
        recorder, self.recorder = self.recorder, None
        (self.recorded if recorder else self.plain).append(end - self.begin)
        if recorder:
            recorder.stop()
            self.ends.append(time.perf_counter() - end)


def cost_of_a_step(steps, gpus):
    """Milliseconds of a step, what recording one adds in percent, and milliseconds before and after it."""
    config = BertConfig(vocab_size=1000, hidden_size=WIDTH, num_hidden_layers=4, num_attention_heads=4, intermediate_size=4 * WIDTH,
                        max_position_embeddings=TOKENS)
    rows = [{"input_ids": torch.randint(1000, (TOKENS,)), "labels": torch.tensor(i % 2)} for i in range(64)]
    timed = EachSecondStep()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        arguments = TrainingArguments(output_dir=folder, per_device_train_batch_size=ROWS // gpus, max_steps=steps, report_to=[],
                                      save_strategy="no", disable_tqdm=True)
        arguments._n_gpu = gpus
        Trainer(model=BertForSequenceClassification(config), args=arguments, train_dataset=rows, callbacks=[timed]).train()
    plain, recorded, before, after = (1e3 * statistics.median(x[2:]) for x in (timed.plain, timed.recorded, timed.beginnings, timed.ends))
    return {"step_ms": plain, "recording_percent": 100 * (recorded / plain - 1), "before_ms": before, "after_ms": after}


def cost_of_a_run(rounds):
    """Seconds that tandem run adds to a program, and those of the program."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "program.py")
        program.write_text(PROGRAM)
        seconds = {(): [], ("-m", "tandem", "run", "--memory", "--then", "continue"): []}
        for _ in range(rounds):
            for words, taken in seconds.items():
                begin = time.perf_counter()
                subprocess.run([sys.executable, *words, program], check=True, capture_output=True)
                taken.append(time.perf_counter() - begin)
    alone, run = map(statistics.median, seconds.values())
    return run - alone, alone


def cost_of_an_op(rounds, calls):
    """Microseconds of an op on the GPU above the host's, for some ops on small tensors."""
    ops = {"add": torch.add, "mul": torch.mul, "mm": torch.mm, "softmax": lambda x, y: torch.softmax(x, 1)}
    taken = {(name, device): [] for name in ops for device in ("cpu", "cuda")}
    torch.set_num_threads(1)
    for _ in range(rounds):
        for (name, device), found in taken.items():
            x, op = torch.ones(8, 8, device=device), ops[name]
            begin = time.perf_counter()
            for _ in range(calls):
                op(x, x)
            torch.cuda.synchronize()
            found.append(1e6 * (time.perf_counter() - begin) / calls)
    return {name: statistics.median(taken[name, "cuda"]) - statistics.median(taken[name, "cpu"]) for name in ops}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    told = {}
    for gpus in (1, min(torch.cuda.device_count(), 4)):
        told[f"bert on {gpus}"] = cost_of_a_step(options.steps, gpus)
    told["run_adds_s"], told["program_s"] = cost_of_a_run(options.rounds)
    told["op_above_cpu_us"] = cost_of_an_op(3 * options.rounds, 2000)
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
