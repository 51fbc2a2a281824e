# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The check of ten minutes, which runs a pack; one file for each concern."""
