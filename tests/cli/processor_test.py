# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""No simulated figure depends on the processor, the threads or the libraries of the machine that simulates."""

from program import ProgramTest, main

# What processors that are older, or threads that are fewer, make of oneDNN, OpenBLAS and tandem's kernels. Each
# library takes the least of this and of what the processor has.
MACHINES = [
    {},
    {"TANDEM_CPU_CAPABILITY": "avx2", "OPENBLAS_CORETYPE": "Haswell"},
    {"TANDEM_CPU_CAPABILITY": "default", "OPENBLAS_CORETYPE": "Nehalem"},
    {"ONEDNN_MAX_CPU_ISA": "AVX2"},
    {"TANDEM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    {"TANDEM_THREADS": "7"},
]

# Convolutions, norms and attention; in 16 bits, too.
COMMANDS = [
    ["cluster", "simulate", "--cluster", "v100-16x8", "--gpus", "2", "--model", "resnet50", "--batch", "8", "--mode", "ddp"],
    ["cluster", "simulate", "--cluster", "a100-80x8", "--gpus", "2", "--model", "gpt", "--batch", "8", "--mode", "dp-sharded", "--dtype", "bf16"],
    ["cluster", "simulate", "--cluster", "t4x4", "--gpus", "2", "--model", "cnn-small", "--batch", "64", "--mode", "dp-classic", "--dtype", "bf16"],
    ["memory", "--cluster", "titan-rtx-x2", "--model", "cnn", "--data", "digits", "--batch", "64", "--mode", "dp-server"],
    ["largest-batch", "--cluster", "t4x4", "--gpus", "1", "--model", "resnet50", "--data", "digits", "--mode", "single"],
    ["explain", "--cluster", "a100-80x8", "--gpus", "2", "--model", "cnn", "--batch", "64", "--mode", "dp-fully-sharded"],
]


class ProcessorTest(ProgramTest):
    def test_figures_are_the_same_on_every_processor(self):
        for command in COMMANDS:
            figures = [self.succeed(*command, **machine).stdout for machine in MACHINES]
            for machine, printed in zip(MACHINES, figures):
                self.assertEqual(printed, figures[0], f"{' '.join(command)} under {machine}")


if __name__ == "__main__":
    main()
