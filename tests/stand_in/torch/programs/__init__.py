# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Programs as users write them, which train on the host and on GPUs of the stand-in."""
