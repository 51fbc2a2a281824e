# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The command tandem run: a program of PyTorch, as it is, on GPUs, on those of a stand-in, or on virtual devices in their place."""
