# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's CUDA on a machine without a GPU: python -m tandem.stand_in program.py (docs/torch-stand-in.md)."""
