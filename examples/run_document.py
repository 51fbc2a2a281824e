# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the first program of Python in a document: run_document.py FILE.md"""

import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    found = re.search(r"^```python\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
if not found:
    raise SystemExit(f"{sys.argv[1]}: no block that begins with ```python")
exec(compile(found[1], sys.argv[1], "exec"), {"__name__": "__main__"})
