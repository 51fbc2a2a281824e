# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The check of what is told of the memory of PyTorch's GPUs: its stages, and what each runs."""
