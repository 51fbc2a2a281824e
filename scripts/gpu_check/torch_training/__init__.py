# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The check of training by tandem on one of PyTorch's GPUs: its stages, and what each runs."""
