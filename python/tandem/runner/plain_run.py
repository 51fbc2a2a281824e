# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""One run of a program on GPUs of which nothing is asked."""

from collections.abc import Callable


class PlainRun:
    def around(self, call: Callable[[], object]) -> None:
        """Calls it. What it raises comes out of here."""
        call()
